CREATE TABLE public.balances (
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint,
    previous_n bigint,
    previous_total bigint,
    previous_txid bigint,
    txid bigint NOT NULL
)
WITH (fillfactor='45');
CREATE TABLE public.totals (
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint,
    previous_n bigint,
    previous_total bigint,
    previous_txid bigint,
    txid bigint NOT NULL
)
WITH (fillfactor='45');
CREATE TABLE public.trident_applied (
    topology text NOT NULL,
    state text NOT NULL,
    table_name text NOT NULL,
    incarnation text NOT NULL,
    epoch bigint NOT NULL,
    token text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    birth_txid bigint NOT NULL,
    row_count bigint,
    relation text
);
CREATE TABLE public.trident_commit (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    tries bigint NOT NULL,
    epoch bigint NOT NULL,
    records bigint NOT NULL,
    dead_letters bigint NOT NULL,
    keys bigint NOT NULL,
    plan_ms bigint NOT NULL,
    process_ms bigint NOT NULL,
    commit_ms bigint NOT NULL,
    done_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_dead_letter (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    spout character varying NOT NULL,
    topic character varying NOT NULL,
    partition bigint NOT NULL,
    record_offset bigint NOT NULL,
    attempt bigint NOT NULL,
    record_timestamp bigint,
    reason text NOT NULL,
    record_key bytea,
    record_value bytea,
    pinned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_decision (
    topology character varying NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    decided_by text NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    void boolean DEFAULT false NOT NULL
);
CREATE TABLE public.trident_diverted (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    state character varying NOT NULL,
    number bigint NOT NULL,
    attempt bigint NOT NULL,
    staged_row text NOT NULL,
    diverted_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_done_plan (
    topology character varying NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    ranges text NOT NULL
);
CREATE TABLE public.trident_fence (
    topology character varying NOT NULL,
    number bigint NOT NULL,
    token text NOT NULL,
    holder text NOT NULL,
    session_pid bigint,
    session_host text,
    session_started double precision,
    raised_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_heartbeat (
    topology character varying NOT NULL,
    epoch bigint NOT NULL,
    beat_at timestamp with time zone NOT NULL,
    lease_seconds double precision NOT NULL,
    released boolean NOT NULL
);
CREATE TABLE public.trident_incarnation (
    topology character varying NOT NULL,
    id character varying NOT NULL,
    birth_txid bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    starts text,
    status text NOT NULL,
    births text
);
CREATE TABLE public.trident_loss (
    topology character varying NOT NULL,
    attempt bigint NOT NULL,
    spout character varying NOT NULL,
    topic character varying NOT NULL,
    partition bigint NOT NULL,
    start_offset bigint NOT NULL,
    stop_offset bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_pin (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    epoch bigint NOT NULL,
    plan text NOT NULL,
    manifests text NOT NULL,
    states text NOT NULL,
    pinned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_plan (
    topology character varying NOT NULL,
    attempt bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    tries bigint NOT NULL,
    epoch bigint NOT NULL,
    predecessor bigint NOT NULL,
    status text NOT NULL,
    batch_time timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ranges text NOT NULL,
    losses text NOT NULL,
    timers text DEFAULT '[]'::text NOT NULL,
    received text DEFAULT '[]'::text NOT NULL,
    diverts text DEFAULT '[]'::text NOT NULL
);
CREATE TABLE public.trident_progress (
    topology character varying NOT NULL,
    incarnation text NOT NULL,
    done bigint NOT NULL,
    done_attempt bigint NOT NULL,
    pinned bigint,
    pinned_attempt bigint,
    last_txid bigint NOT NULL,
    last_attempt bigint NOT NULL,
    reset_to text,
    undoing bigint,
    held bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.trident_refusal (
    topology character varying NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    refused_at timestamp with time zone NOT NULL,
    settled_by text,
    settled_at timestamp with time zone
);
CREATE TABLE public.trident_reset (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    birth_txid bigint NOT NULL,
    states text NOT NULL,
    start text,
    epoch bigint NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    streams text,
    begins text,
    stood text,
    foreign_incarnations text
);
CREATE TABLE public.trident_schema (
    version bigint NOT NULL,
    applied_at timestamp with time zone NOT NULL
);
CREATE UNLOGGED TABLE public.trident_staging_balances (
    trident_txid bigint NOT NULL,
    trident_attempt bigint NOT NULL,
    trident_write_id text NOT NULL COLLATE pg_catalog."C",
    trident_digest bigint NOT NULL,
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint
);
CREATE TABLE public.trident_staging_totals (
    trident_txid bigint NOT NULL,
    trident_attempt bigint NOT NULL,
    trident_write_id text NOT NULL COLLATE pg_catalog."C",
    trident_digest bigint NOT NULL,
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint
);
CREATE TABLE public.trident_state_fence (
    topology text NOT NULL,
    epoch bigint NOT NULL,
    token text NOT NULL
);
CREATE TABLE public.trident_state_schema (
    version bigint NOT NULL,
    applied_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_topology (
    name character varying NOT NULL,
    incarnation text NOT NULL,
    spec text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
INSERT INTO public.balances VALUES ('a3', 4, 32, 2, 9, 2, 3);
INSERT INTO public.balances VALUES ('a2', 5, 45, 3, 16, 3, 4);
INSERT INTO public.balances VALUES ('a1', 4, 37, 2, 5, 2, 4);
INSERT INTO public.balances VALUES ('a10', 4, 36, 3, 26, 3, 4);
INSERT INTO public.balances VALUES ('a6', 4, 40, 3, 29, 3, 4);
INSERT INTO public.balances VALUES ('a8', 4, 41, 2, 7, 2, 5);
INSERT INTO public.balances VALUES ('a4', 4, 45, 2, 9, 2, 5);
INSERT INTO public.balances VALUES ('a0', 5, 50, 3, 12, 3, 5);
INSERT INTO public.balances VALUES ('a7', 4, 47, 3, 23, 3, 5);
INSERT INTO public.balances VALUES ('a9', 5, 50, 4, 37, 4, 5);
INSERT INTO public.balances VALUES ('a5', 5, 55, 4, 41, 4, 5);
INSERT INTO public.totals VALUES ('a8', 2, 7, 1, 2, 1, 2);
INSERT INTO public.totals VALUES ('a4', 2, 9, 1, 3, 1, 2);
INSERT INTO public.totals VALUES ('a7', 3, 23, 1, 2, 1, 3);
INSERT INTO public.totals VALUES ('a3', 4, 32, 2, 9, 2, 3);
INSERT INTO public.totals VALUES ('a0', 3, 12, 2, 5, 2, 3);
INSERT INTO public.totals VALUES ('a2', 5, 45, 3, 16, 3, 4);
INSERT INTO public.totals VALUES ('a9', 4, 37, 2, 9, 2, 4);
INSERT INTO public.totals VALUES ('a5', 4, 41, 2, 11, 2, 4);
INSERT INTO public.totals VALUES ('a1', 4, 37, 2, 5, 2, 4);
INSERT INTO public.totals VALUES ('a10', 4, 36, 3, 26, 3, 4);
INSERT INTO public.totals VALUES ('a6', 4, 40, 3, 29, 3, 4);
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', '7fa25b70b187d55f', 1, 'c0e4e7a841b714c02168dd7592c33a7a', 4, 4, 0, 11, '16788:16788');
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', '7fa25b70b187d55f', 1, 'c0e4e7a841b714c02168dd7592c33a7a', 5, 5, 0, 11, '16771:16771');
INSERT INTO public.trident_commit VALUES ('payments', '7fa25b70b187d55f', 1, 1, 1, 1, 10, 0, 20, 11, 285, 27, '2026-11-22 19:10:00.236486+00');
INSERT INTO public.trident_commit VALUES ('payments', '7fa25b70b187d55f', 2, 2, 1, 1, 10, 1, 18, 3, 2, 13, '2026-11-22 19:10:00.259674+00');
INSERT INTO public.trident_commit VALUES ('payments', '7fa25b70b187d55f', 3, 3, 1, 1, 10, 0, 12, 9, 3, 11, '2026-11-22 19:10:00.29381+00');
INSERT INTO public.trident_commit VALUES ('payments', '7fa25b70b187d55f', 4, 4, 1, 1, 10, 0, 12, 3, 3, 11, '2026-11-22 19:10:00.314767+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '7fa25b70b187d55f', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-22 19:10:00.249729+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '7fa25b70b187d55f', 5, 's', 't', 2, 14, 5, NULL, 'unreadable', NULL, '\x7b', '2026-11-22 19:10:00.327889+00');
INSERT INTO public.trident_done_plan VALUES ('payments', '7fa25b70b187d55f', 4, 4, '{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}');
INSERT INTO public.trident_fence VALUES ('payments', 1, 'c0e4e7a841b714c02168dd7592c33a7a', 'host-a:12903', 12964, NULL, NULL, '2026-11-22 19:09:59.578124+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-22 19:10:00.277341+00', 2, true);
INSERT INTO public.trident_incarnation VALUES ('payments', '7fa25b70b187d55f', 0, '2026-11-22 19:09:59.858484+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]', 'open', '[{"state":"balances","txid":0,"with_rows":false},{"state":"totals","txid":0,"with_rows":false}]');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, '7fa25b70b187d55f', 3, 'done', 'offsets were gone before they could be read', '2026-11-22 19:10:00.275954+00');
INSERT INTO public.trident_pin VALUES ('payments', '7fa25b70b187d55f', 1, 1, 1, '{}', '[["s",{"edge":1041095105142595890,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":3912354784467147262,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":3683374030889057675,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"b642f252d74b4d1dafc36b1751600bbf","digest":{"count":10,"low":21477161119,"high":22972197862,"xor":5186280248728773485}}]}]', '2026-11-22 19:10:00.219259+00');
INSERT INTO public.trident_pin VALUES ('payments', '7fa25b70b187d55f', 2, 2, 1, '{}', '[["s",{"edge":2966203018349324596,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":3708499326233140335,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":1528980087324575262,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":9,"writes":[]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"ffe6bf4c59af4338bbf8e8a283e5a56e","digest":{"count":9,"low":23893801909,"high":21760099380,"xor":810468765296587189}}]}]', '2026-11-22 19:10:00.248607+00');
INSERT INTO public.trident_pin VALUES ('payments', '7fa25b70b187d55f', 3, 3, 1, '{}', '[["s",{"edge":2320398857207479125,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":7460446451180327981,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":8333629512746145330,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"59ecb5ac1eaf43d9a2f6461e8aff8aac","digest":{"count":6,"low":15911640318,"high":15608950519,"xor":-4478496677974236368}}]}]', '2026-11-22 19:10:00.285776+00');
INSERT INTO public.trident_pin VALUES ('payments', '7fa25b70b187d55f', 4, 4, 1, '{}', '[["s",{"edge":4632106625541752953,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":3840267727256188279,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":1708592443017199111,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"e8337a5e16e747998d6f412c5a53c2b1","digest":{"count":6,"low":13825743693,"high":16448243059,"xor":4792266841169672429}}]}]', '2026-11-22 19:10:00.305457+00');
INSERT INTO public.trident_pin VALUES ('payments', '7fa25b70b187d55f', 5, 5, 1, '{}', '[["s",{"edge":2408739135497091925,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":2790498489564344477,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":1072821674041775186,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"d432278ebb2b44dbad36ec6e9bf8af99","digest":{"count":6,"low":14307066714,"high":12997493742,"xor":-1939986979820772960}}]}]', '2026-11-22 19:10:00.327479+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, '7fa25b70b187d55f', 1, 1, 1, 0, 'done', '2026-11-22 19:09:59.906695+00', '2026-11-22 19:09:59.915176+00', '{"changed":[["s","t","id",null,[[0,0,4],[1,0,3],[2,0,3]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, '7fa25b70b187d55f', 2, 1, 1, 1, 'done', '2026-11-22 19:10:00.238807+00', '2026-11-22 19:10:00.241058+00', '{"changed":[["s","t","id",null,[[0,4,8],[1,3,6],[2,3,6]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, '7fa25b70b187d55f', 3, 1, 1, 2, 'done', '2026-11-22 19:10:00.269253+00', '2026-11-22 19:10:00.274655+00', '{"changed":[["s","t","id",null,[[0,12,16],[1,6,9],[2,6,9]]]]}', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 4, '7fa25b70b187d55f', 4, 1, 1, 3, 'done', '2026-11-22 19:10:00.295304+00', '2026-11-22 19:10:00.29739+00', '{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, '7fa25b70b187d55f', 5, 1, 1, 4, 'live', '2026-11-22 19:10:00.31801+00', '2026-11-22 19:10:00.320306+00', '{"changed":[["s","t","id",null,[[0,20,24],[1,12,15],[2,12,15]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', '7fa25b70b187d55f', 4, 4, 5, 5, 5, 5, NULL, NULL, 0);
INSERT INTO public.trident_schema VALUES (1, '2026-11-22 19:09:59.5171+00');
INSERT INTO public.trident_schema VALUES (2, '2026-11-22 19:09:59.52784+00');
INSERT INTO public.trident_schema VALUES (3, '2026-11-22 19:09:59.528809+00');
INSERT INTO public.trident_schema VALUES (4, '2026-11-22 19:09:59.537835+00');
INSERT INTO public.trident_schema VALUES (5, '2026-11-22 19:09:59.53885+00');
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', -7139160861969541184, 'a0', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', -3842508735541768401, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', 8112199236931158005, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', -2855131595582442598, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', 622505745218642856, 'a1', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', -935874994069647793, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', 2033277178703159, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', 8209185887878947803, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', -6626255978584943745, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'b642f252d74b4d1dafc36b1751600bbf', -7562617867708135527, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', 791842306679445282, 'a6', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', -4069811087576176009, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', 3067965431797827551, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', -427905047450021601, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', 4800725210242045196, 'a0', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', -869358433208383952, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', -4768688866626281932, 'a1', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', -7644714855590835389, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'ffe6bf4c59af4338bbf8e8a283e5a56e', -8101603881821250453, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '59ecb5ac1eaf43d9a2f6461e8aff8aac', -1061761208011973918, 'a7', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '59ecb5ac1eaf43d9a2f6461e8aff8aac', 7569257957724755694, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '59ecb5ac1eaf43d9a2f6461e8aff8aac', -2245814283493033558, 'a10', 2, 22);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '59ecb5ac1eaf43d9a2f6461e8aff8aac', 6051259200788796727, 'a6', 2, 24);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '59ecb5ac1eaf43d9a2f6461e8aff8aac', 6087901589679271895, 'a2', 1, 9);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '59ecb5ac1eaf43d9a2f6461e8aff8aac', -4701143457917604746, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e8337a5e16e747998d6f412c5a53c2b1', -8868887819564164746, 'a2', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e8337a5e16e747998d6f412c5a53c2b1', -1120948988390809644, 'a9', 2, 28);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e8337a5e16e747998d6f412c5a53c2b1', 5957211142233184554, 'a5', 2, 30);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e8337a5e16e747998d6f412c5a53c2b1', -2886258096770584414, 'a1', 2, 32);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e8337a5e16e747998d6f412c5a53c2b1', 8256124917652378365, 'a10', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e8337a5e16e747998d6f412c5a53c2b1', -4479551421108468422, 'a6', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'd432278ebb2b44dbad36ec6e9bf8af99', -4988823463899581867, 'a8', 2, 34);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'd432278ebb2b44dbad36ec6e9bf8af99', 963864502408548970, 'a4', 2, 36);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'd432278ebb2b44dbad36ec6e9bf8af99', 1060058563915384254, 'a0', 2, 38);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'd432278ebb2b44dbad36ec6e9bf8af99', -455729568657703909, 'a7', 1, 24);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'd432278ebb2b44dbad36ec6e9bf8af99', 7523725915459940932, 'a9', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'd432278ebb2b44dbad36ec6e9bf8af99', -3619517604193514882, 'a5', 1, 14);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, 'c0e4e7a841b714c02168dd7592c33a7a');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-22 19:09:59.700468+00');
INSERT INTO public.trident_state_schema VALUES (2, '2026-11-22 19:09:59.702125+00');
INSERT INTO public.trident_topology VALUES ('payments', '7fa25b70b187d55f', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}}}', '2026-11-22 19:09:59.857997+00');
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_pkey PRIMARY KEY (topology, state);
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_table_name_key UNIQUE (table_name);
ALTER TABLE ONLY public.trident_commit
    ADD CONSTRAINT trident_commit_pkey PRIMARY KEY (topology, incarnation, txid);
ALTER TABLE ONLY public.trident_dead_letter
    ADD CONSTRAINT trident_dead_letter_pkey PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset);
ALTER TABLE ONLY public.trident_decision
    ADD CONSTRAINT trident_decision_pkey PRIMARY KEY (topology, epoch);
ALTER TABLE ONLY public.trident_diverted
    ADD CONSTRAINT trident_diverted_pkey PRIMARY KEY (topology, incarnation, txid, state, number);
ALTER TABLE ONLY public.trident_done_plan
    ADD CONSTRAINT trident_done_plan_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_fence
    ADD CONSTRAINT trident_fence_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_heartbeat
    ADD CONSTRAINT trident_heartbeat_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_incarnation
    ADD CONSTRAINT trident_incarnation_pkey PRIMARY KEY (topology, id);
ALTER TABLE ONLY public.trident_loss
    ADD CONSTRAINT trident_loss_pkey PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset);
ALTER TABLE ONLY public.trident_pin
    ADD CONSTRAINT trident_pin_pkey PRIMARY KEY (topology, incarnation, txid);
ALTER TABLE ONLY public.trident_plan
    ADD CONSTRAINT trident_plan_pkey PRIMARY KEY (topology, attempt);
ALTER TABLE ONLY public.trident_progress
    ADD CONSTRAINT trident_progress_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_refusal
    ADD CONSTRAINT trident_refusal_pkey PRIMARY KEY (topology, epoch);
ALTER TABLE ONLY public.trident_reset
    ADD CONSTRAINT trident_reset_pkey PRIMARY KEY (topology, incarnation);
ALTER TABLE ONLY public.trident_schema
    ADD CONSTRAINT trident_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.trident_state_fence
    ADD CONSTRAINT trident_state_fence_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_state_schema
    ADD CONSTRAINT trident_state_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.trident_topology
    ADD CONSTRAINT trident_topology_pkey PRIMARY KEY (name);
CREATE INDEX trident_by_txid_trident_staging_balances ON public.trident_staging_balances USING btree (trident_txid);
CREATE INDEX trident_by_txid_trident_staging_totals ON public.trident_staging_totals USING btree (trident_txid);
CREATE INDEX trident_commit_txid ON public.trident_commit USING btree (topology, txid);
CREATE UNIQUE INDEX trident_key_balances ON public.balances USING btree (account) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX trident_key_totals ON public.totals USING btree (account) NULLS NOT DISTINCT;
CREATE INDEX trident_pin_txid ON public.trident_pin USING btree (topology, txid);
CREATE UNIQUE INDEX trident_plan_live ON public.trident_plan USING btree (topology, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_open ON public.trident_plan USING btree (topology, incarnation, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_txid ON public.trident_plan USING btree (topology, txid, attempt);
