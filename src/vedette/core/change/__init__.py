"""Has this target changed, is it noise, and what exactly is different?"""
