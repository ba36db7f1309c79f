-- revision 0027
CREATE TABLE access_sessions (
	digest BLOB NOT NULL, 
	token BLOB NOT NULL, 
	created_at BIGINT NOT NULL, 
	ends_at BIGINT NOT NULL, 
	CONSTRAINT pk_access_sessions PRIMARY KEY (digest)
)
;;
CREATE TABLE access_tokens (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	digest BLOB NOT NULL, 
	created_at BIGINT NOT NULL, 
	revoked_at BIGINT, 
	CONSTRAINT pk_access_tokens PRIMARY KEY (id), 
	CONSTRAINT uq_access_tokens_digest UNIQUE (digest)
)
;;
CREATE TABLE alarms (
	subject VARCHAR NOT NULL, 
	is_raised BOOLEAN NOT NULL, 
	bad_since BIGINT, 
	good_since BIGINT, 
	relapses INTEGER DEFAULT '0' NOT NULL, 
	settled_at BIGINT, 
	alert_id BIGINT, 
	CONSTRAINT pk_alarms PRIMARY KEY (subject)
)
;;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
;;
CREATE TABLE alerts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind VARCHAR NOT NULL, 
	kinds TEXT NOT NULL, 
	subject VARCHAR NOT NULL, 
	risk INTEGER NOT NULL, 
	sources TEXT NOT NULL, 
	detail TEXT DEFAULT '' NOT NULL, 
	opened_at BIGINT NOT NULL, 
	recovered_at BIGINT, 
	acked_at BIGINT, 
	ack_note TEXT DEFAULT '' NOT NULL, 
	relapses INTEGER DEFAULT '0' NOT NULL
)
;;
CREATE TABLE answered_requests (
	"key" VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	request BLOB NOT NULL, 
	status INTEGER NOT NULL, 
	answer TEXT NOT NULL, 
	CONSTRAINT pk_answered_requests PRIMARY KEY ("key")
)
;;
CREATE TABLE artifacts (
	evidence_id BIGINT NOT NULL, 
	kind VARCHAR NOT NULL, 
	reader VARCHAR NOT NULL, 
	chars BIGINT NOT NULL, 
	confidence FLOAT, 
	path TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_artifacts PRIMARY KEY (evidence_id, kind)
)
;;
CREATE TABLE backgrounds (
	id INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_backgrounds PRIMARY KEY (id)
)
;;
CREATE TABLE change_marks (
	change_id INTEGER NOT NULL, 
	word VARCHAR NOT NULL, 
	who VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_change_marks PRIMARY KEY (change_id)
)
;;
CREATE TABLE change_numbers (
	number INTEGER NOT NULL, 
	change_id BIGINT NOT NULL, 
	CONSTRAINT pk_change_numbers PRIMARY KEY (number), 
	CONSTRAINT uq_change_numbers_change_id UNIQUE (change_id)
)
;;
CREATE TABLE changes (
	id INTEGER NOT NULL, 
	watch_id BIGINT NOT NULL, 
	kind VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	before_visit BIGINT NOT NULL, 
	after_visit BIGINT NOT NULL, 
	before_evidence BIGINT, 
	after_evidence BIGINT, 
	observed_at BIGINT NOT NULL, 
	decided_at BIGINT, 
	layer VARCHAR NOT NULL, 
	similarity FLOAT NOT NULL, 
	summary TEXT NOT NULL, 
	diff TEXT NOT NULL, 
	reasons TEXT DEFAULT '[]' NOT NULL, 
	seal BLOB NOT NULL, 
	CONSTRAINT pk_changes PRIMARY KEY (id)
)
;;
CREATE TABLE clocks (
	id INTEGER NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_clocks PRIMARY KEY (id)
)
;;
CREATE TABLE crawl_batches (
	id VARCHAR NOT NULL, 
	status VARCHAR DEFAULT 'running' NOT NULL, 
	started_at BIGINT, 
	target_at BIGINT, 
	hard_at BIGINT, 
	ended_at BIGINT, 
	heartbeat_at BIGINT, 
	stop_asked_at BIGINT, 
	eta_at BIGINT, 
	"plan" TEXT, 
	cells BIGINT, 
	settled BIGINT, 
	answered BIGINT, 
	under_way INTEGER, 
	waiting BIGINT, 
	dropped_from INTEGER, 
	dropped TEXT, 
	budget_usd FLOAT, 
	spent_usd FLOAT, 
	written_to VARCHAR, 
	CONSTRAINT pk_crawl_batches PRIMARY KEY (id)
)
;;
CREATE TABLE cron_marks (
	name VARCHAR NOT NULL, 
	fired_at BIGINT NOT NULL, 
	CONSTRAINT pk_cron_marks PRIMARY KEY (name)
)
;;
CREATE TABLE domain_responses (
	id INTEGER NOT NULL, 
	domain_id TEXT NOT NULL, 
	model TEXT NOT NULL, 
	prompt_type TEXT, 
	prompt TEXT, 
	response TEXT, 
	batch_id TEXT, 
	response_time_ms INTEGER, 
	quality_flag TEXT, 
	retry_count INTEGER, 
	chars INTEGER, 
	words INTEGER, 
	mentions INTEGER, 
	citations INTEGER, 
	own_citations INTEGER, 
	created_at DATETIME, 
	CONSTRAINT pk_domain_responses PRIMARY KEY (id), 
	CONSTRAINT uq_domain_responses_domain_id_model_prompt_type UNIQUE (domain_id, model, prompt_type)
)
;;
CREATE TABLE domains (
	id INTEGER NOT NULL, 
	domain TEXT NOT NULL, 
	active BOOLEAN DEFAULT 1 NOT NULL, 
	added_by TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_domains PRIMARY KEY (id), 
	CONSTRAINT uq_domains_domain UNIQUE (domain)
)
;;
CREATE TABLE evidence (
	id INTEGER NOT NULL, 
	watch_id BIGINT NOT NULL, 
	digest BLOB NOT NULL, 
	url TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	content_class VARCHAR NOT NULL, 
	content_type TEXT DEFAULT '' NOT NULL, 
	size BIGINT NOT NULL, 
	segment VARCHAR NOT NULL, 
	"offset" BIGINT NOT NULL, 
	length BIGINT NOT NULL, 
	stored_by BIGINT NOT NULL, standing VARCHAR DEFAULT 'content' NOT NULL, same_as BIGINT, source_id VARCHAR, 
	CONSTRAINT pk_evidence PRIMARY KEY (id), 
	CONSTRAINT uq_evidence_watch_id_digest UNIQUE (watch_id, digest)
)
;;
CREATE TABLE feed_addresses (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	digest BLOB NOT NULL, 
	tag VARCHAR, 
	source VARCHAR, 
	url TEXT, 
	risk INTEGER, 
	created_at BIGINT NOT NULL, 
	revoked_at BIGINT, 
	CONSTRAINT pk_feed_addresses PRIMARY KEY (id), 
	CONSTRAINT uq_feed_addresses_digest UNIQUE (digest)
)
;;
CREATE TABLE findings (
	watch_id INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	score FLOAT NOT NULL, 
	action VARCHAR NOT NULL, 
	contributions TEXT NOT NULL, 
	weights VARCHAR NOT NULL, 
	found_at BIGINT NOT NULL, 
	CONSTRAINT pk_findings PRIMARY KEY (watch_id)
)
;;
CREATE TABLE hosts (
	lane_id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	counts BLOB NOT NULL, 
	named FLOAT NOT NULL, 
	missed FLOAT NOT NULL, 
	invented FLOAT NOT NULL, 
	room FLOAT NOT NULL, 
	dates_good FLOAT NOT NULL, 
	dates_bad FLOAT NOT NULL, 
	streak INTEGER NOT NULL, 
	failed_at FLOAT NOT NULL, 
	dear FLOAT NOT NULL, 
	clock_id BIGINT, 
	fresh INTEGER NOT NULL, firsts FLOAT DEFAULT '0' NOT NULL, firsts_due FLOAT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_hosts PRIMARY KEY (lane_id)
)
;;
CREATE TABLE hubs (
	watch_id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	leaves FLOAT NOT NULL, 
	listed_at FLOAT, 
	every FLOAT NOT NULL, 
	pull FLOAT NOT NULL, 
	births FLOAT NOT NULL, 
	since FLOAT, 
	CONSTRAINT pk_hubs PRIMARY KEY (watch_id)
)
;;
CREATE TABLE hunt_looks (
	turn INTEGER NOT NULL, 
	watch_id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	seed VARCHAR NOT NULL, 
	pull FLOAT NOT NULL, 
	words TEXT NOT NULL, 
	is_prospect BOOLEAN NOT NULL, 
	facts TEXT, 
	figures BLOB, 
	CONSTRAINT pk_hunt_looks PRIMARY KEY (turn), 
	CONSTRAINT uq_hunt_looks_watch_id UNIQUE (watch_id)
)
;;
CREATE TABLE hunts (
	id INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	empty_at BIGINT, 
	"after" BIGINT NOT NULL, turn BIGINT DEFAULT '0' NOT NULL, learned BIGINT DEFAULT '0' NOT NULL, weighed BIGINT DEFAULT '-1' NOT NULL, 
	CONSTRAINT pk_hunts PRIMARY KEY (id)
)
;;
CREATE TABLE imported_texts (
	watch_id BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	origin VARCHAR NOT NULL, 
	imported_at BIGINT NOT NULL, 
	chars BIGINT NOT NULL, 
	text BLOB NOT NULL, 
	CONSTRAINT pk_imported_texts PRIMARY KEY (watch_id, at)
)
;;
CREATE TABLE jobs (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	queue VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	data TEXT NOT NULL, 
	state VARCHAR DEFAULT 'waiting' NOT NULL, 
	attempts INTEGER DEFAULT '0' NOT NULL, 
	added_at BIGINT NOT NULL, 
	due_at BIGINT NOT NULL, 
	started_at BIGINT, 
	ended_at BIGINT, 
	worker VARCHAR, 
	until_at BIGINT, 
	result TEXT, 
	error TEXT DEFAULT '' NOT NULL, stack TEXT DEFAULT '' NOT NULL, queued_at BIGINT, 
	CONSTRAINT uq_jobs_queue_id UNIQUE (queue, id)
)
;;
CREATE TABLE lane_visits (
	lane_id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	due_at BIGINT, 
	worker VARCHAR DEFAULT '' NOT NULL, 
	token BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_lane_visits PRIMARY KEY (lane_id)
)
;;
CREATE TABLE lanes (
	id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	next_start_at BIGINT, 
	bucket_at BIGINT, 
	failures INTEGER DEFAULT '0' NOT NULL, 
	recent BIGINT DEFAULT '0' NOT NULL, 
	recent_count INTEGER DEFAULT '0' NOT NULL, 
	closed_until BIGINT, 
	held_until BIGINT, 
	blocked_by TEXT DEFAULT '' NOT NULL, 
	crawl_delay_ms BIGINT, 
	word BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_lanes PRIMARY KEY (id), 
	CONSTRAINT uq_lanes_key UNIQUE ("key")
)
;;
CREATE TABLE leases (
	watch_id INTEGER NOT NULL, 
	worker VARCHAR NOT NULL, 
	taken_at BIGINT NOT NULL, 
	until_at BIGINT NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (watch_id)
)
;;
CREATE TABLE ledger (
	id INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	watch_id BIGINT, 
	visit_id BIGINT, 
	run_id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	payload TEXT NOT NULL, 
	CONSTRAINT pk_ledger PRIMARY KEY (id)
)
;;
CREATE TABLE likenesses (
	evidence_id INTEGER NOT NULL, 
	other_id BIGINT NOT NULL, 
	share FLOAT NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_likenesses PRIMARY KEY (evidence_id)
)
;;
CREATE TABLE marks (
	watch_id INTEGER NOT NULL, 
	word VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_marks PRIMARY KEY (watch_id)
)
;;
CREATE TABLE odd_pages (
	watch_id INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	url TEXT NOT NULL, 
	place TEXT NOT NULL, 
	source_id VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	digest BLOB NOT NULL, 
	pull FLOAT NOT NULL, 
	simhash BIGINT NOT NULL, 
	figures BLOB NOT NULL, 
	features TEXT NOT NULL, 
	provenance TEXT NOT NULL, 
	score FLOAT NOT NULL, 
	action VARCHAR NOT NULL, 
	twin BIGINT NOT NULL, 
	weights VARCHAR NOT NULL, 
	CONSTRAINT pk_odd_pages PRIMARY KEY (watch_id), 
	CONSTRAINT uq_odd_pages_number UNIQUE (number)
)
;;
CREATE TABLE odd_weights (
	version VARCHAR NOT NULL, 
	body TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_odd_weights PRIMARY KEY (version)
)
;;
CREATE TABLE orders (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at BIGINT NOT NULL, 
	action VARCHAR NOT NULL, 
	subject TEXT NOT NULL
)
;;
CREATE TABLE outbox (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	notice_id VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	risk INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	due_at BIGINT NOT NULL, 
	state VARCHAR DEFAULT 'waiting' NOT NULL, 
	attempts INTEGER DEFAULT '0' NOT NULL, 
	sent_at BIGINT, 
	error TEXT DEFAULT '' NOT NULL, 
	digest_id VARCHAR, 
	CONSTRAINT uq_outbox_notice_id_channel UNIQUE (notice_id, channel)
)
;;
CREATE TABLE page_links (
	watch_id INTEGER NOT NULL, 
	targets BLOB NOT NULL, 
	CONSTRAINT pk_page_links PRIMARY KEY (watch_id)
)
;;
CREATE TABLE page_reports (
	watch_id INTEGER NOT NULL, 
	author VARCHAR NOT NULL, 
	body TEXT NOT NULL, 
	digest BLOB NOT NULL, 
	calls BIGINT NOT NULL, 
	usd FLOAT NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_page_reports PRIMARY KEY (watch_id)
)
;;
CREATE TABLE panel_answers (
	batch_id VARCHAR NOT NULL, 
	cell BIGINT NOT NULL, 
	domain_id TEXT NOT NULL, 
	domain TEXT NOT NULL, 
	model TEXT NOT NULL, 
	prompt_type TEXT NOT NULL, 
	repeat INTEGER NOT NULL, 
	prompt_version TEXT NOT NULL, 
	outcome VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	text TEXT, 
	response_time_ms INTEGER NOT NULL, 
	retry_count INTEGER NOT NULL, 
	quality_flag VARCHAR, 
	chars INTEGER, 
	words INTEGER, 
	mentions INTEGER, 
	citations INTEGER, 
	own_citations INTEGER, 
	meta TEXT DEFAULT '{}' NOT NULL, 
	tokens_in INTEGER DEFAULT '0' NOT NULL, 
	tokens_out INTEGER DEFAULT '0' NOT NULL, 
	cost_usd FLOAT DEFAULT '0' NOT NULL, 
	detail TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_panel_answers PRIMARY KEY (batch_id, cell), 
	CONSTRAINT uq_panel_answers_domain_id_model_prompt_type_batch_id_repeat UNIQUE (domain_id, model, prompt_type, batch_id, repeat)
)
;;
CREATE TABLE panel_domains (
	batch_id VARCHAR NOT NULL, 
	n INTEGER NOT NULL, 
	domain_id TEXT NOT NULL, 
	domain TEXT NOT NULL, 
	CONSTRAINT pk_panel_domains PRIMARY KEY (batch_id, n)
)
;;
CREATE TABLE panel_leases (
	batch_id VARCHAR NOT NULL, 
	cell BIGINT NOT NULL, 
	CONSTRAINT pk_panel_leases PRIMARY KEY (batch_id, cell)
)
;;
CREATE TABLE panel_models (
	name VARCHAR NOT NULL, 
	provider VARCHAR NOT NULL, 
	wire_name VARCHAR NOT NULL, 
	aliases TEXT DEFAULT '[]' NOT NULL, 
	first_seen_at BIGINT, 
	last_seen_at BIGINT, 
	retired_at BIGINT, 
	successor VARCHAR DEFAULT '' NOT NULL, 
	answered BIGINT DEFAULT '0' NOT NULL, 
	failed BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_panel_models PRIMARY KEY (name)
)
;;
CREATE TABLE panel_shares (
	batch_id VARCHAR NOT NULL, 
	provider VARCHAR NOT NULL, 
	free_at BIGINT NOT NULL, 
	ended_by VARCHAR DEFAULT '' NOT NULL, 
	under_way INTEGER DEFAULT '0' NOT NULL, 
	waiting BIGINT DEFAULT '0' NOT NULL, 
	eta_at BIGINT, 
	allotted_usd FLOAT DEFAULT '0' NOT NULL, 
	lost_usd FLOAT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_panel_shares PRIMARY KEY (batch_id, provider)
)
;;
CREATE TABLE panel_visits (
	provider VARCHAR NOT NULL, 
	worker VARCHAR DEFAULT '' NOT NULL, 
	token BIGINT DEFAULT '0' NOT NULL, 
	until_at BIGINT DEFAULT '0' NOT NULL, 
	batch_id VARCHAR DEFAULT '' NOT NULL, 
	CONSTRAINT pk_panel_visits PRIMARY KEY (provider)
)
;;
CREATE TABLE parked (
	watch_id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	outcome VARCHAR NOT NULL, 
	detail TEXT DEFAULT '' NOT NULL, 
	attempts INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	CONSTRAINT pk_parked PRIMARY KEY (watch_id)
)
;;
CREATE TABLE prospects (
	watch_id INTEGER NOT NULL, 
	chosen_at BIGINT, pull FLOAT DEFAULT '0' NOT NULL, place TEXT, not_before BIGINT, seed VARCHAR, words TEXT, 
	CONSTRAINT pk_prospects PRIMARY KEY (watch_id)
)
;;
CREATE TABLE provider_metrics (
	batch_id VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	updated_at BIGINT, 
	calls BIGINT, 
	ok BIGINT, 
	throttled BIGINT, 
	errors BIGINT, 
	retries BIGINT, 
	parked BIGINT, 
	tokens_in BIGINT, 
	tokens_out BIGINT, 
	p50_ms BIGINT, 
	p95_ms BIGINT, 
	p99_ms BIGINT, 
	under_way BIGINT, 
	at_once BIGINT, 
	success_rate FLOAT, 
	throttle_rate FLOAT, 
	error_rate FLOAT, 
	cost_usd FLOAT, 
	per_minute FLOAT, 
	breaker VARCHAR, 
	CONSTRAINT pk_provider_metrics PRIMARY KEY (batch_id, model)
)
;;
CREATE TABLE published (
	version INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	body TEXT NOT NULL, 
	clock_id BIGINT, 
	CONSTRAINT pk_published PRIMARY KEY (version)
)
;;
CREATE TABLE refusals (
	id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	source_id VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	note TEXT DEFAULT '' NOT NULL, 
	first_at BIGINT NOT NULL, 
	last_at BIGINT NOT NULL, 
	count BIGINT DEFAULT '1' NOT NULL, 
	CONSTRAINT pk_refusals PRIMARY KEY (id)
)
;;
CREATE TABLE robots (
	origin VARCHAR NOT NULL, 
	fetched_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	status INTEGER, 
	outcome VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	verdict VARCHAR NOT NULL, 
	crawl_delay FLOAT, 
	sitemaps TEXT DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_robots PRIMARY KEY (origin)
)
;;
CREATE TABLE runs (
	id VARCHAR NOT NULL, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	policy VARCHAR NOT NULL, 
	config_digest VARCHAR NOT NULL, 
	ended_by VARCHAR, 
	tally TEXT DEFAULT '{}' NOT NULL, rules TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (id)
)
;;
CREATE TABLE scheduler (
	id INTEGER NOT NULL, 
	running TEXT NOT NULL, 
	CONSTRAINT pk_scheduler PRIMARY KEY (id)
)
;;
CREATE TABLE screenshots (
	visit_id INTEGER NOT NULL, 
	evidence_id BIGINT NOT NULL, 
	width INTEGER NOT NULL, 
	height INTEGER NOT NULL, 
	page_height INTEGER NOT NULL, 
	size BIGINT NOT NULL, 
	CONSTRAINT pk_screenshots PRIMARY KEY (visit_id)
)
;;
CREATE TABLE seals (
	number INTEGER NOT NULL, 
	kind VARCHAR NOT NULL, 
	entries BLOB NOT NULL, 
	chain BLOB NOT NULL, 
	CONSTRAINT pk_seals PRIMARY KEY (number)
)
;;
CREATE TABLE segments (
	name VARCHAR NOT NULL, 
	retention VARCHAR NOT NULL, 
	day VARCHAR NOT NULL, 
	size BIGINT NOT NULL, 
	count BIGINT NOT NULL, 
	head BLOB NOT NULL, 
	state VARCHAR DEFAULT 'open' NOT NULL, 
	CONSTRAINT pk_segments PRIMARY KEY (name)
)
;;
CREATE TABLE sources (
	id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	url TEXT NOT NULL, 
	lister VARCHAR NOT NULL, 
	options TEXT DEFAULT '{}' NOT NULL, 
	risk INTEGER, 
	tier INTEGER DEFAULT '1' NOT NULL, 
	is_active BOOLEAN DEFAULT '1' NOT NULL, 
	scrape_frequency_s BIGINT, 
	retention VARCHAR DEFAULT 'standard' NOT NULL, 
	fetch TEXT DEFAULT '{}' NOT NULL, 
	origin VARCHAR DEFAULT 'cli' NOT NULL, 
	created_at BIGINT NOT NULL, 
	failures INTEGER DEFAULT '0' NOT NULL, 
	last_error TEXT, 
	last_success_at BIGINT, 
	closed_until BIGINT, 
	tally TEXT DEFAULT '{}' NOT NULL, 
	paused_at BIGINT, 
	CONSTRAINT pk_sources PRIMARY KEY (id)
)
;;
CREATE TABLE verdicts (
	evidence_id INTEGER NOT NULL, 
	text_key BIGINT DEFAULT '0' NOT NULL, 
	traits TEXT, 
	vector BLOB, 
	word VARCHAR, 
	score FLOAT, 
	reasons TEXT DEFAULT '[]' NOT NULL, 
	rule VARCHAR DEFAULT '' NOT NULL, 
	at BIGINT, 
	CONSTRAINT pk_verdicts PRIMARY KEY (evidence_id)
)
;;
CREATE TABLE visits (
	id INTEGER NOT NULL, 
	watch_id BIGINT NOT NULL, 
	run_id VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	took_ms INTEGER NOT NULL, 
	outcome VARCHAR NOT NULL, 
	url TEXT NOT NULL, 
	status INTEGER, 
	changed BOOLEAN DEFAULT '0' NOT NULL, 
	digest BLOB, 
	evidence_id BIGINT, 
	text_chars INTEGER, 
	wire_bytes BIGINT DEFAULT '0' NOT NULL, 
	detail TEXT DEFAULT '' NOT NULL, 
	segment VARCHAR NOT NULL, 
	seq BIGINT NOT NULL, 
	kind VARCHAR NOT NULL, 
	"offset" BIGINT, 
	length BIGINT, 
	record_digest BLOB, 
	chain BLOB NOT NULL, audit_s BIGINT, 
	CONSTRAINT pk_visits PRIMARY KEY (id), 
	CONSTRAINT uq_visits_segment_seq UNIQUE (segment, seq), 
	CONSTRAINT uq_visits_watch_id_at UNIQUE (watch_id, at)
)
;;
CREATE TABLE watches (
	id INTEGER NOT NULL, 
	url TEXT NOT NULL, 
	lane_id BIGINT NOT NULL, 
	source_id VARCHAR NOT NULL, 
	lister VARCHAR, 
	depth INTEGER DEFAULT '0' NOT NULL, 
	parent_id BIGINT, 
	title TEXT DEFAULT '' NOT NULL, 
	node_type VARCHAR DEFAULT 'LEAF' NOT NULL, 
	node_role VARCHAR, 
	risk INTEGER DEFAULT '1' NOT NULL, 
	velocity FLOAT DEFAULT '0.5' NOT NULL, 
	scan_count INTEGER DEFAULT '0' NOT NULL, 
	last_changed_at BIGINT, 
	due_at BIGINT, 
	interval_s BIGINT DEFAULT '0' NOT NULL, 
	created_at BIGINT NOT NULL, 
	published_at BIGINT, 
	modified_at BIGINT, 
	last_visit_at BIGINT, 
	last_outcome VARCHAR, 
	attempt INTEGER DEFAULT '0' NOT NULL, 
	etag TEXT, 
	last_modified TEXT, 
	seen_visit BIGINT, 
	seen_evidence BIGINT, 
	seen_at BIGINT, 
	seen_digest BLOB, 
	text_key BIGINT, 
	masked_key BIGINT, 
	simhash BIGINT, 
	text_chars INTEGER, 
	content_class VARCHAR, 
	mask TEXT, 
	pending_change BIGINT, 
	canonical_id BIGINT, 
	merged_into BIGINT, 
	is_gone BOOLEAN DEFAULT '0' NOT NULL, audit_s BIGINT, belief BLOB, 
	CONSTRAINT pk_watches PRIMARY KEY (id)
)
;;
CREATE TABLE workers (
	id VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	roles VARCHAR NOT NULL, 
	place VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	started_at BIGINT NOT NULL, 
	beat_at BIGINT NOT NULL, 
	figures TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_workers PRIMARY KEY (id)
)
;;
CREATE TABLE yields (
	place TEXT NOT NULL, 
	looks INTEGER NOT NULL, 
	found FLOAT NOT NULL, 
	errors INTEGER NOT NULL, 
	CONSTRAINT pk_yields PRIMARY KEY (place)
)
;;
CREATE INDEX ix_alerts_subject ON alerts (subject)
;;
CREATE INDEX ix_change_marks_word ON change_marks (word)
;;
CREATE INDEX ix_changes_observed_at ON changes (observed_at)
;;
CREATE INDEX ix_changes_state_observed_at ON changes (state, observed_at)
;;
CREATE INDEX ix_changes_watch_id ON changes (watch_id)
;;
CREATE INDEX ix_domain_responses_batch_id ON domain_responses (batch_id)
;;
CREATE INDEX ix_domain_responses_created_at ON domain_responses (created_at)
;;
CREATE INDEX ix_domain_responses_model ON domain_responses (model)
;;
CREATE INDEX ix_evidence_digest ON evidence (digest)
;;
CREATE INDEX ix_evidence_same_as ON evidence (same_as) WHERE same_as IS NOT NULL
;;
CREATE INDEX ix_findings_score ON findings (score)
;;
CREATE INDEX ix_jobs_queue_started_at ON jobs (queue, started_at)
;;
CREATE INDEX ix_jobs_queue_state_due_at ON jobs (queue, state, due_at)
;;
CREATE INDEX ix_lane_visits_due_at ON lane_visits (due_at)
;;
CREATE INDEX ix_lane_visits_held ON lane_visits (due_at) WHERE worker <> ''
;;
CREATE INDEX ix_ledger_watch_id_at ON ledger (watch_id, at)
;;
CREATE INDEX ix_outbox_channel_state_due_at ON outbox (channel, state, due_at)
;;
CREATE INDEX ix_prospects_chosen_at ON prospects (chosen_at)
;;
CREATE INDEX ix_prospects_place ON prospects (place)
;;
CREATE INDEX ix_prospects_pull ON prospects (pull)
;;
CREATE INDEX ix_screenshots_evidence_id ON screenshots (evidence_id)
;;
CREATE INDEX ix_verdicts_text_key ON verdicts (text_key)
;;
CREATE INDEX ix_visits_at ON visits (at)
;;
CREATE INDEX ix_watches_queue ON watches (lane_id, risk, due_at, interval_s)
;;
CREATE INDEX ix_watches_second_looks ON watches (lane_id, due_at) WHERE pending_change IS NOT NULL
;;
CREATE INDEX ix_watches_source_node ON watches (source_id, node_type)
;;
CREATE INDEX ix_watches_url ON watches (url)
;;
CREATE VIEW "DiscoveredItem" AS SELECT
  CAST(w.id AS TEXT) AS "id",
  w.source_id AS "endpointId",
  w.url AS "url",
  NULLIF(w.title, '') AS "title",
  w.published_at AS "publishedAt",
  CASE
    WHEN w.merged_into IS NOT NULL OR w.last_outcome IN ('address_refused', 'scheme_refused', 'robots_refused', 'no_browser', 'type_refused', 'screened') THEN 'SKIPPED'
    WHEN p.watch_id IS NOT NULL THEN 'FAILED'
    WHEN w.attempt > 0 OR w.last_outcome IS NULL THEN 'PENDING'
    WHEN w.seen_evidence IS NULL THEN 'FAILED'
    WHEN j.word IS NULL THEN 'FETCHED'
    ELSE 'PROCESSED' END AS "status",
  NULLIF(LOWER(HEX(COALESCE((SELECT s.digest FROM evidence s WHERE s.id = COALESCE((SELECT k.same_as FROM evidence k WHERE k.id = w.seen_evidence), w.seen_evidence)), w.seen_digest))), '')
    AS "contentHash",
  CAST(COALESCE((SELECT k.same_as FROM evidence k WHERE k.id = w.seen_evidence), w.seen_evidence) AS TEXT) AS "evidenceId",
  w.attempt AS "retryCount",
  CASE WHEN w.last_outcome IS NULL OR w.last_outcome IN ('ok', 'not_modified') THEN NULL ELSE (SELECT v.outcome || CASE WHEN v.detail = '' THEN '' ELSE ': ' || v.detail END FROM visits v WHERE v.watch_id = w.id ORDER BY v.at DESC LIMIT 1) END AS "errorMessage",
  j.at AS "processedAt",
  w.node_type AS "nodeType",
  w.node_role AS "nodeRole",
  u.url AS "parentUrl",
  w.depth AS "depth",
  CASE w.risk WHEN 3 THEN 'CRITICAL' WHEN 2 THEN 'HIGH' WHEN 1 THEN 'MEDIUM' ELSE 'LOW' END AS "freshnessRisk",
  w.velocity AS "changeFrequency",
  w.scan_count AS "scanCount",
  w.last_changed_at AS "lastChangedAt",
  w.due_at AS "nextScanDue"
FROM watches w LEFT JOIN parked p ON p.watch_id = w.id LEFT JOIN verdicts j ON j.evidence_id = COALESCE((SELECT k.same_as FROM evidence k WHERE k.id = w.seen_evidence), w.seen_evidence)
  LEFT JOIN watches u ON u.id = w.parent_id
;;
CREATE VIEW "DiscoveryEndpoint" AS SELECT
  s.id AS "id",
  SUBSTR(SUBSTR(s.url, INSTR(s.url, '://') + 3), 1, INSTR(SUBSTR(s.url, INSTR(s.url, '://') + 3), '/') - 1) AS "domain",
  SUBSTR(SUBSTR(s.url, INSTR(s.url, '://') + 3), INSTR(SUBSTR(s.url, INSTR(s.url, '://') + 3), '/')) AS "path",
  s.name AS "name",
  CASE s.lister WHEN 'feed' THEN 'RSS_FEED' WHEN 'sitemap' THEN 'SITEMAP_XML' WHEN 'html_list' THEN 'HTML_LIST'
    WHEN 'pagination' THEN 'PAGINATION' WHEN 'crawl' THEN 'CRAWL' ELSE UPPER(s.lister) END AS "listingStrategy",
  CASE WHEN s.scrape_frequency_s IS NULL THEN NULL WHEN s.scrape_frequency_s < 86400 THEN 'EVERY_RUN'
    WHEN s.scrape_frequency_s < 302400 THEN 'DAILY' WHEN s.scrape_frequency_s < 604800 THEN 'TWICE_WEEKLY'
    WHEN s.scrape_frequency_s < 2592000 THEN 'WEEKLY' ELSE 'MONTHLY' END AS "scrapeFrequency",
  CASE s.tier WHEN 3 THEN 'CRITICAL' WHEN 2 THEN 'HIGH' WHEN 1 THEN 'NORMAL' ELSE 'LOW' END AS "priority",
  s.is_active AND s.paused_at IS NULL AS "isActive",
  JSON_EXTRACT(s.options, '$.url_pattern') AS "urlPattern",
  JSON_EXTRACT(s.options, '$.pagination_pattern') AS "paginationPattern",
  NULLIF(LOWER(HEX(COALESCE((SELECT e.digest FROM evidence e WHERE e.id = w.seen_evidence), w.seen_digest))), '') AS "lastContentHash",
  w.last_visit_at AS "lastScrapedAt",
  (SELECT COUNT(*) FROM visits v WHERE v.watch_id = w.id AND v.outcome IN ('empty', 'gone', 'client_error', 'server_error', 'throttled', 'timeout', 'connect_error', 'dns_error', 'tls_error', 'protocol_error', 'decode_error', 'too_large', 'truncated', 'redirect_error', 'parse_failed', 'blocked_page', 'login_wall', 'soft_404', 'auth_error', 'quota_spent', 'overloaded', 'refused_content', 'malformed_answer') AND v.at > COALESCE(
    (SELECT MAX(g.at) FROM visits g WHERE g.watch_id = w.id AND g.outcome IN ('ok', 'not_modified')), -1)) AS "consecutiveErrors",
  CASE WHEN w.last_outcome IN ('ok', 'not_modified') THEN NULL ELSE (SELECT v.outcome || CASE WHEN v.detail = '' THEN '' ELSE ': ' || v.detail END FROM visits v WHERE v.watch_id = w.id ORDER BY v.at DESC LIMIT 1) END AS "lastError",
  NULLIF(JSON_PATCH('{}', JSON_OBJECT(
    'urlPattern', JSON_EXTRACT(s.options, '$.url_pattern'), 'startDate', JSON_EXTRACT(s.options, '$.start_date'),
    'endDate', JSON_EXTRACT(s.options, '$.end_date'), 'types', JSON_EXTRACT(s.options, '$.sitemap_types'),
    'maxDepth', JSON_EXTRACT(s.options, '$.max_depth'), 'maxUrls', JSON_EXTRACT(s.options, '$.max_urls'),
    'includePatterns', JSON_EXTRACT(s.options, '$.include'), 'excludePatterns', JSON_EXTRACT(s.options, '$.exclude'),
    'requiresHeadless', JSON(CASE JSON_EXTRACT(s.options, '$.requires_headless') WHEN 1 THEN 'true' END))), '{}') AS "metadata"
FROM sources s LEFT JOIN watches own ON own.source_id = s.id AND own.url = s.url
  LEFT JOIN watches w ON w.id = COALESCE(own.merged_into, own.id)
;;
CREATE VIEW "EvidenceArtifact" AS SELECT
  a.evidence_id || '-' || a.kind AS "id",
  CAST(a.evidence_id AS TEXT) AS "evidenceId",
  a.kind AS "kind",
  a.path AS "path",
  a.chars AS "chars",
  a.confidence AS "confidence",
  a.at AS "createdAt"
FROM artifacts a
;;
CREATE VIEW "RegulatoryEvidence" AS SELECT
  CAST(e.id AS TEXT) AS "id",
  COALESCE(e.source_id, w.source_id) AS "sourceId",
  e.url AS "url",
  NULL AS "rawContent",
  e.segment || '.warc.gz' AS "rawContentFile",
  e.offset AS "rawContentOffset",
  e.length AS "rawContentLength",
  LOWER(HEX(e.digest)) AS "contentHash",
  CASE WHEN e.content_class LIKE 'PDF%' THEN 'pdf' ELSE LOWER(e.content_class) END AS "contentType",
  e.content_class AS "contentClass",
  EXISTS (SELECT 1 FROM changes c WHERE c.watch_id = e.watch_id AND c.state = 'reported' AND (c.after_evidence = e.id OR c.after_evidence IN (SELECT k.id FROM evidence k WHERE k.same_as = e.id)))
    AS "hasChanged",
  (SELECT c.summary FROM changes c WHERE c.watch_id = e.watch_id AND c.state = 'reported' AND (c.after_evidence = e.id OR c.after_evidence IN (SELECT k.id FROM evidence k WHERE k.same_as = e.id))
    ORDER BY c.observed_at DESC LIMIT 1) AS "changeSummary",
  e.at AS "fetchedAt",
  (SELECT a.evidence_id || '-' || a.kind FROM artifacts a WHERE a.evidence_id = e.id
    AND a.kind IN ('text', 'ocr') ORDER BY a.kind DESC LIMIT 1) AS "primaryTextArtifactId"
FROM evidence e LEFT JOIN watches w ON w.id = e.watch_id WHERE e.standing = 'content'
;;
CREATE VIEW "RegulatorySource" AS SELECT
  s.id AS "id",
  s.id AS "slug",
  s.name AS "name",
  s.url AS "url",
  COALESCE(JSON_EXTRACT(s.options, '$.registered.hierarchy'), 5) AS "hierarchy",
  CASE
    WHEN JSON_EXTRACT(s.options, '$.every') < 60 THEN 60 / 3600.0
    WHEN JSON_EXTRACT(s.options, '$.every') IS NOT NULL THEN JSON_EXTRACT(s.options, '$.every') / 3600.0
    WHEN s.scrape_frequency_s % 3600 = 0 THEN s.scrape_frequency_s / 3600
    ELSE s.scrape_frequency_s / 3600.0 END AS "fetchIntervalHours",
  CASE s.tier WHEN 3 THEN 'critical' WHEN 2 THEN 'high' WHEN 1 THEN 'medium' ELSE 'low' END AS "priority",
  COALESCE(JSON_EXTRACT(s.options, '$.registered.domains'), '[]') AS "domains",
  s.is_active AND s.paused_at IS NULL AS "isActive"
FROM sources s
;;
CREATE VIEW "WatchdogAlert" AS SELECT
  id, kind AS "type", risk AS "severity", subject AS "entityId", detail AS "message",
  opened_at AS "occurredAt", recovered_at AS "resolvedAt", acked_at AS "acknowledgedAt"
FROM alerts
;;
INSERT INTO "alembic_version" VALUES('0027');