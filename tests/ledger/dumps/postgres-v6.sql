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
    relation text,
    is_sink boolean DEFAULT false NOT NULL
);
CREATE TABLE public.trident_command (
    topology character varying NOT NULL,
    number bigint NOT NULL,
    id text NOT NULL,
    incarnation text NOT NULL,
    kind text NOT NULL,
    arguments text NOT NULL,
    given_by text NOT NULL,
    given_at timestamp with time zone NOT NULL,
    within_seconds double precision NOT NULL,
    epoch bigint,
    verdict text,
    answer text,
    answered_at timestamp with time zone
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
    created_at timestamp with time zone NOT NULL,
    activity text DEFAULT 'active'::text NOT NULL
);
INSERT INTO public.balances VALUES ('a9', 5, 50, 3, 19, 3, 4);
INSERT INTO public.balances VALUES ('a5', 5, 55, 3, 22, 3, 4);
INSERT INTO public.balances VALUES ('a1', 4, 37, 3, 17, 3, 4);
INSERT INTO public.balances VALUES ('a8', 5, 57, 4, 36, 4, 5);
INSERT INTO public.balances VALUES ('a4', 5, 62, 3, 23, 4, 5);
INSERT INTO public.balances VALUES ('a0', 6, 68, 4, 27, 4, 5);
INSERT INTO public.balances VALUES ('a7', 6, 82, 4, 39, 4, 5);
INSERT INTO public.balances VALUES ('a3', 6, 69, 4, 32, 3, 5);
INSERT INTO public.balances VALUES ('a10', 5, 54, 4, 36, 3, 5);
INSERT INTO public.balances VALUES ('a6', 5, 59, 4, 40, 3, 5);
INSERT INTO public.balances VALUES ('a2', 6, 65, 5, 45, 4, 5);
INSERT INTO public.totals VALUES ('a3', 4, 32, 2, 9, 2, 3);
INSERT INTO public.totals VALUES ('a10', 4, 36, 2, 11, 2, 3);
INSERT INTO public.totals VALUES ('a6', 4, 40, 2, 13, 2, 3);
INSERT INTO public.totals VALUES ('a2', 5, 45, 4, 28, 3, 4);
INSERT INTO public.totals VALUES ('a9', 5, 50, 3, 19, 3, 4);
INSERT INTO public.totals VALUES ('a5', 5, 55, 3, 22, 3, 4);
INSERT INTO public.totals VALUES ('a1', 4, 37, 3, 17, 3, 4);
INSERT INTO public.totals VALUES ('a8', 4, 36, 2, 7, 2, 4);
INSERT INTO public.totals VALUES ('a4', 3, 23, 2, 9, 2, 4);
INSERT INTO public.totals VALUES ('a0', 4, 27, 3, 12, 2, 4);
INSERT INTO public.totals VALUES ('a7', 4, 39, 3, 23, 3, 4);
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', '75651f461825d794', 1, 'd49ba34d3d014412f6327e86a54dce09', 4, 4, 0, 11, '16813:16813', false);
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', '75651f461825d794', 1, 'd49ba34d3d014412f6327e86a54dce09', 5, 5, 0, 11, '16796:16796', false);
INSERT INTO public.trident_commit VALUES ('payments', '75651f461825d794', 1, 1, 1, 1, 12, 0, 20, 110, 364, 39, '2026-11-28 00:01:01.174607+00');
INSERT INTO public.trident_commit VALUES ('payments', '75651f461825d794', 2, 2, 1, 1, 12, 1, 20, 12, 7, 48, '2026-11-28 00:01:01.248415+00');
INSERT INTO public.trident_commit VALUES ('payments', '75651f461825d794', 3, 3, 1, 1, 12, 0, 16, 15, 5, 28, '2026-11-28 00:01:01.31587+00');
INSERT INTO public.trident_commit VALUES ('payments', '75651f461825d794', 4, 4, 1, 1, 12, 1, 16, 7, 3, 34, '2026-11-28 00:01:01.364752+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '75651f461825d794', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-28 00:01:01.211966+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '75651f461825d794', 4, 's', 't', 2, 14, 4, NULL, 'unreadable', NULL, '\x7b', '2026-11-28 00:01:01.33861+00');
INSERT INTO public.trident_done_plan VALUES ('payments', '75651f461825d794', 4, 4, '{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}');
INSERT INTO public.trident_fence VALUES ('payments', 1, 'd49ba34d3d014412f6327e86a54dce09', 'host-a:26926', 27152, NULL, NULL, '2026-11-28 00:00:59.765711+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-28 00:01:00.888108+00', 2, true);
INSERT INTO public.trident_incarnation VALUES ('payments', '75651f461825d794', 0, '2026-11-28 00:01:00.546904+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]', 'open', '[{"state":"balances","txid":0,"with_rows":false},{"state":"totals","txid":0,"with_rows":false}]');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, '75651f461825d794', 3, 'done', 'offsets were gone before they could be read', '2026-11-28 00:01:01.271947+00');
INSERT INTO public.trident_pin VALUES ('payments', '75651f461825d794', 1, 1, 1, '{}', '[["s",{"edge":1506203412962402461,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":5290213957070574378,"id":{"topic":"t","partition":1},"position":4,"digest":{"count":4,"low":10746154657,"high":10644522984,"xor":-7554638761862431389},"size_bytes":40,"newest":null}],["s",{"edge":7648123005299504322,"id":{"topic":"t","partition":2},"position":4,"digest":{"count":4,"low":9840981767,"high":7822292548,"xor":6110933767266996073},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"38448e81174d4335bec6ed4c27cb44da","digest":{"count":10,"low":30100623187,"high":19579187781,"xor":-1640218258092255415}}]}]', '2026-11-28 00:01:01.145017+00');
INSERT INTO public.trident_pin VALUES ('payments', '75651f461825d794', 2, 2, 1, '{}', '[["s",{"edge":8225153485307073302,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":1826012165032507408,"id":{"topic":"t","partition":1},"position":8,"digest":{"count":4,"low":6865414501,"high":8943433480,"xor":8431679789336237631},"size_bytes":40,"newest":null}],["s",{"edge":1893995172692777047,"id":{"topic":"t","partition":2},"position":8,"digest":{"count":4,"low":8996081524,"high":8430122451,"xor":3769159099334608816},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"87eec2da25aa45e190d34693a9867ffa","digest":{"count":10,"low":15896498404,"high":20654661504,"xor":7619331944768359894}}]}]', '2026-11-28 00:01:01.210985+00');
INSERT INTO public.trident_pin VALUES ('payments', '75651f461825d794', 3, 3, 1, '{}', '[["s",{"edge":773015877635598124,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":4524462194963503380,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":4,"low":6411868675,"high":9516693174,"xor":3911161667909020167},"size_bytes":40,"newest":null}],["s",{"edge":4625848711015809362,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":4,"low":10130629554,"high":8047617560,"xor":-4796163778495587228},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"88ceb2d008a84e479a90ab8b34f282db","digest":{"count":8,"low":23114986407,"high":18533165341,"xor":8383053075833262247}}]}]', '2026-11-28 00:01:01.291094+00');
INSERT INTO public.trident_pin VALUES ('payments', '75651f461825d794', 4, 4, 1, '{}', '[["s",{"edge":2098427848237598152,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":2032279363310066718,"id":{"topic":"t","partition":1},"position":16,"digest":{"count":4,"low":12744956373,"high":4889354971,"xor":-1764735473416325031},"size_bytes":40,"newest":null}],["s",{"edge":914151928472599766,"id":{"topic":"t","partition":2},"position":16,"digest":{"count":4,"low":9019689577,"high":11841828031,"xor":-2219090609444582677},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"b8f70fce1e6648da89814e79493c36b4","digest":{"count":8,"low":20776378839,"high":19526749390,"xor":-3708344726539575447}}]}]', '2026-11-28 00:01:01.338123+00');
INSERT INTO public.trident_pin VALUES ('payments', '75651f461825d794', 5, 5, 1, '{}', '[["s",{"edge":5492674710660874342,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":5217543068674647962,"id":{"topic":"t","partition":1},"position":20,"digest":{"count":4,"low":12929239765,"high":11456535649,"xor":-1689574802847106073},"size_bytes":40,"newest":null}],["s",{"edge":292046937982447599,"id":{"topic":"t","partition":2},"position":20,"digest":{"count":4,"low":12211767297,"high":8438760954,"xor":2001654101640339565},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"ebbcdc662960467ab0790bcbfb32bf78","digest":{"count":8,"low":13936119332,"high":17194081364,"xor":-6487388152011893046}}]}]', '2026-11-28 00:01:01.384007+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, '75651f461825d794', 1, 1, 1, 0, 'done', '2026-11-28 00:01:00.651446+00', '2026-11-28 00:01:00.660484+00', '{"changed":[["s","t","id",null,[[0,0,4],[1,0,4],[2,0,4]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, '75651f461825d794', 2, 1, 1, 1, 'done', '2026-11-28 00:01:01.181362+00', '2026-11-28 00:01:01.187833+00', '{"changed":[["s","t","id",null,[[0,4,8],[1,4,8],[2,4,8]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, '75651f461825d794', 3, 1, 1, 2, 'done', '2026-11-28 00:01:01.265647+00', '2026-11-28 00:01:01.27083+00', '{"changed":[["s","t","id",null,[[0,12,16],[1,8,12],[2,8,12]]]]}', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 4, '75651f461825d794', 4, 1, 1, 3, 'done', '2026-11-28 00:01:01.318483+00', '2026-11-28 00:01:01.320961+00', '{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, '75651f461825d794', 5, 1, 1, 4, 'live', '2026-11-28 00:01:01.370046+00', '2026-11-28 00:01:01.372378+00', '{"changed":[["s","t","id",null,[[0,20,24],[1,16,20],[2,16,20]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', '75651f461825d794', 4, 4, 5, 5, 5, 5, NULL, NULL, 0);
INSERT INTO public.trident_schema VALUES (1, '2026-11-28 00:00:59.564135+00');
INSERT INTO public.trident_schema VALUES (2, '2026-11-28 00:00:59.597335+00');
INSERT INTO public.trident_schema VALUES (3, '2026-11-28 00:00:59.599004+00');
INSERT INTO public.trident_schema VALUES (4, '2026-11-28 00:00:59.623415+00');
INSERT INTO public.trident_schema VALUES (5, '2026-11-28 00:00:59.624072+00');
INSERT INTO public.trident_schema VALUES (6, '2026-11-28 00:00:59.63708+00');
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', 644891134710382305, 'a0', 2, 5);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', -140057406721647398, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', -7445679919093989831, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', 4941189668885811660, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', -4463357893184089706, 'a1', 2, 5);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', -8789493817976603745, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', 7880044518696732168, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', -4195918389975554840, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', 959617326218964206, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '38448e81174d4335bec6ed4c27cb44da', 2467015641630670464, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', 2944524761419066586, 'a6', 2, 13);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', -3689192226410098890, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', 3147528830255018390, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', -4683000601931647529, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', -8274759638933790854, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', -6652655922999950967, 'a10', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', 5798922547977013676, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', -8739004453448334654, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', -8955124978189506036, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '87eec2da25aa45e190d34693a9867ffa', 7133392925531592170, 'a7', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', -5612050654763799379, 'a7', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', -8768247845610509093, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', 8693639724230535057, 'a10', 2, 25);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', 7029247313586023781, 'a6', 2, 27);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', -5899254023983130248, 'a2', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', 5485551011220748090, 'a9', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', 5006568086005892202, 'a5', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '88ceb2d008a84e479a90ab8b34f282db', -123090851453292531, 'a1', 1, 12);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', 7389405623071766172, 'a2', 1, 17);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', -1249988069527920410, 'a9', 2, 31);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', -1474117672739880808, 'a5', 2, 33);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', 6729530777431892359, 'a1', 1, 20);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', -245351532510852689, 'a8', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', 6316859498399542002, 'a4', 1, 14);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', 4107615225578732851, 'a0', 1, 15);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'b8f70fce1e6648da89814e79493c36b4', 6952563977182393954, 'a7', 1, 16);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', -8463785839830631504, 'a8', 1, 21);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', 4049702244763549731, 'a4', 2, 39);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', -4691968439751158154, 'a0', 2, 41);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', 5427001582723004311, 'a7', 2, 43);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', -8344307707260910644, 'a3', 2, 37);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', 2047145275416143970, 'a10', 1, 18);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', -2381900663663511404, 'a6', 1, 19);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ebbcdc662960467ab0790bcbfb32bf78', -6027589663865053310, 'a2', 1, 20);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, 'd49ba34d3d014412f6327e86a54dce09');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-28 00:01:00.314+00');
INSERT INTO public.trident_state_schema VALUES (2, '2026-11-28 00:01:00.317703+00');
INSERT INTO public.trident_state_schema VALUES (3, '2026-11-28 00:01:00.318118+00');
INSERT INTO public.trident_topology VALUES ('payments', '75651f461825d794', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}},"dropped":[]}', '2026-11-28 00:01:00.546503+00', 'active');
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_pkey PRIMARY KEY (topology, state);
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_table_name_key UNIQUE (table_name);
ALTER TABLE ONLY public.trident_command
    ADD CONSTRAINT trident_command_pkey PRIMARY KEY (topology, number);
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
CREATE INDEX trident_command_open ON public.trident_command USING btree (topology, number) WHERE (verdict IS NULL);
CREATE INDEX trident_commit_txid ON public.trident_commit USING btree (topology, txid);
CREATE UNIQUE INDEX trident_key_balances ON public.balances USING btree (account) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX trident_key_totals ON public.totals USING btree (account) NULLS NOT DISTINCT;
CREATE INDEX trident_pin_txid ON public.trident_pin USING btree (topology, txid);
CREATE UNIQUE INDEX trident_plan_live ON public.trident_plan USING btree (topology, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_open ON public.trident_plan USING btree (topology, incarnation, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_txid ON public.trident_plan USING btree (topology, txid, attempt);
