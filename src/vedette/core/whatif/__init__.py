"""What would another policy, budget or objective have done?  Played over recorded history, or over the truth.

`history` holds what was seen, `rates` what that says about each target, `impute` truths that fit it, `play` one
policy on one truth, `bounds` many plays as bounds.
"""
