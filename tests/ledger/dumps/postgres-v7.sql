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
CREATE TABLE public.trident_error (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    id character varying NOT NULL,
    place text NOT NULL,
    kind text NOT NULL,
    text text NOT NULL,
    count bigint NOT NULL,
    txid bigint,
    attempt bigint,
    epoch bigint NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL
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
    released boolean NOT NULL,
    latencies text
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
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', '58b15743905c884b', 1, 'fb56cbf6427ba241515db53227b4e612', 4, 4, 0, 11, '16830:16830', false);
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', '58b15743905c884b', 1, 'fb56cbf6427ba241515db53227b4e612', 5, 5, 0, 11, '16813:16813', false);
INSERT INTO public.trident_commit VALUES ('payments', '58b15743905c884b', 1, 1, 1, 1, 12, 0, 20, 5, 115, 19, '2026-11-28 03:06:39.373709+00');
INSERT INTO public.trident_commit VALUES ('payments', '58b15743905c884b', 2, 2, 1, 1, 12, 1, 20, 3, 2, 11, '2026-11-28 03:06:39.393057+00');
INSERT INTO public.trident_commit VALUES ('payments', '58b15743905c884b', 3, 3, 1, 1, 12, 0, 16, 3, 2, 9, '2026-11-28 03:06:39.409727+00');
INSERT INTO public.trident_commit VALUES ('payments', '58b15743905c884b', 4, 4, 1, 1, 12, 1, 16, 2, 2, 8, '2026-11-28 03:06:39.42403+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '58b15743905c884b', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-28 03:06:39.385618+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '58b15743905c884b', 4, 's', 't', 2, 14, 4, NULL, 'unreadable', NULL, '\x7b', '2026-11-28 03:06:39.417954+00');
INSERT INTO public.trident_done_plan VALUES ('payments', '58b15743905c884b', 4, 4, '{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}');
INSERT INTO public.trident_fence VALUES ('payments', 1, 'fb56cbf6427ba241515db53227b4e612', 'host-a:527', 558, NULL, NULL, '2026-11-28 03:06:39.100418+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-28 03:06:39.101161+00', 2, true, NULL);
INSERT INTO public.trident_incarnation VALUES ('payments', '58b15743905c884b', 0, '2026-11-28 03:06:39.206898+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]', 'open', '[{"state":"balances","txid":0,"with_rows":false},{"state":"totals","txid":0,"with_rows":false}]');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, '58b15743905c884b', 3, 'done', 'offsets were gone before they could be read', '2026-11-28 03:06:39.396611+00');
INSERT INTO public.trident_pin VALUES ('payments', '58b15743905c884b', 1, 1, 1, '{}', '[["s",{"edge":2928483478778293574,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":2336005282719636874,"id":{"topic":"t","partition":1},"position":4,"digest":{"count":4,"low":10746154657,"high":10644522984,"xor":-7554638761862431389},"size_bytes":40,"newest":null}],["s",{"edge":4711673320799348076,"id":{"topic":"t","partition":2},"position":4,"digest":{"count":4,"low":9840981767,"high":7822292548,"xor":6110933767266996073},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"610023b981ba486dab6e3c7382b8f3c7","digest":{"count":10,"low":19372794838,"high":24068282752,"xor":6936225210460712100}}]}]', '2026-11-28 03:06:39.360918+00');
INSERT INTO public.trident_pin VALUES ('payments', '58b15743905c884b', 2, 2, 1, '{}', '[["s",{"edge":3422001901874825321,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":7921293886363213396,"id":{"topic":"t","partition":1},"position":8,"digest":{"count":4,"low":6865414501,"high":8943433480,"xor":8431679789336237631},"size_bytes":40,"newest":null}],["s",{"edge":5976161098644818526,"id":{"topic":"t","partition":2},"position":8,"digest":{"count":4,"low":8996081524,"high":8430122451,"xor":3769159099334608816},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"9c1d7eb679d54d2b915803c47a8bbdb9","digest":{"count":10,"low":23840306980,"high":14997323374,"xor":-2388144510117318198}}]}]', '2026-11-28 03:06:39.384913+00');
INSERT INTO public.trident_pin VALUES ('payments', '58b15743905c884b', 3, 3, 1, '{}', '[["s",{"edge":3211657716319415105,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":3691917304949903135,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":4,"low":6411868675,"high":9516693174,"xor":3911161667909020167},"size_bytes":40,"newest":null}],["s",{"edge":8260097180146313406,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":4,"low":10130629554,"high":8047617560,"xor":-4796163778495587228},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"bbf9859f799c469da5229b0c0e2059a8","digest":{"count":8,"low":20432392660,"high":14107156268,"xor":-4743878950416162192}}]}]', '2026-11-28 03:06:39.402865+00');
INSERT INTO public.trident_pin VALUES ('payments', '58b15743905c884b', 4, 4, 1, '{}', '[["s",{"edge":1812972832367350657,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":1050488550559608266,"id":{"topic":"t","partition":1},"position":16,"digest":{"count":4,"low":12744956373,"high":4889354971,"xor":-1764735473416325031},"size_bytes":40,"newest":null}],["s",{"edge":2751346019940873329,"id":{"topic":"t","partition":2},"position":16,"digest":{"count":4,"low":9019689577,"high":11841828031,"xor":-2219090609444582677},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"1eed5fe2f6d24dcb8731fa683a6a2bb7","digest":{"count":8,"low":12444496846,"high":9864028595,"xor":3355719217448271968}}]}]', '2026-11-28 03:06:39.41767+00');
INSERT INTO public.trident_pin VALUES ('payments', '58b15743905c884b', 5, 5, 1, '{}', '[["s",{"edge":443876324999567271,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":4667692924675713561,"id":{"topic":"t","partition":1},"position":20,"digest":{"count":4,"low":12929239765,"high":11456535649,"xor":-1689574802847106073},"size_bytes":40,"newest":null}],["s",{"edge":8520048243112938822,"id":{"topic":"t","partition":2},"position":20,"digest":{"count":4,"low":12211767297,"high":8438760954,"xor":2001654101640339565},"size_bytes":40,"newest":null}]]', '[{"state":"balances","rows":8,"writes":[]},{"state":"totals","rows":8,"writes":[{"state":"totals","write_id":"fd0a81e7a2704ae98390a721412de485","digest":{"count":8,"low":23679076937,"high":20703959744,"xor":-8323935842012717973}}]}]', '2026-11-28 03:06:39.431821+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, '58b15743905c884b', 1, 1, 1, 0, 'done', '2026-11-28 03:06:39.230116+00', '2026-11-28 03:06:39.233977+00', '{"changed":[["s","t","id",null,[[0,0,4],[1,0,4],[2,0,4]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, '58b15743905c884b', 2, 1, 1, 1, 'done', '2026-11-28 03:06:39.375478+00', '2026-11-28 03:06:39.377624+00', '{"changed":[["s","t","id",null,[[0,4,8],[1,4,8],[2,4,8]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, '58b15743905c884b', 3, 1, 1, 2, 'done', '2026-11-28 03:06:39.394082+00', '2026-11-28 03:06:39.395777+00', '{"changed":[["s","t","id",null,[[0,12,16],[1,8,12],[2,8,12]]]]}', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 4, '58b15743905c884b', 4, 1, 1, 3, 'done', '2026-11-28 03:06:39.410636+00', '2026-11-28 03:06:39.412199+00', '{"changed":[["s","t","id",null,[[0,16,20],[1,12,16],[2,12,16]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, '58b15743905c884b', 5, 1, 1, 4, 'live', '2026-11-28 03:06:39.424884+00', '2026-11-28 03:06:39.426561+00', '{"changed":[["s","t","id",null,[[0,20,24],[1,16,20],[2,16,20]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', '58b15743905c884b', 4, 4, 5, 5, 5, 5, NULL, NULL, 0);
INSERT INTO public.trident_schema VALUES (1, '2026-11-28 03:06:39.018068+00');
INSERT INTO public.trident_schema VALUES (2, '2026-11-28 03:06:39.022015+00');
INSERT INTO public.trident_schema VALUES (3, '2026-11-28 03:06:39.022645+00');
INSERT INTO public.trident_schema VALUES (4, '2026-11-28 03:06:39.026349+00');
INSERT INTO public.trident_schema VALUES (5, '2026-11-28 03:06:39.026888+00');
INSERT INTO public.trident_schema VALUES (6, '2026-11-28 03:06:39.028801+00');
INSERT INTO public.trident_schema VALUES (7, '2026-11-28 03:06:39.030371+00');
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', 2878661858530527109, 'a0', 2, 5);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', -5439755174292503656, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', -9029867231011839104, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', 3482412501376116560, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', 6064688929111039825, 'a1', 2, 5);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', -83160277177857173, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', -1982144764957917341, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', 445246463007657808, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', -1503301032184476147, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '610023b981ba486dab6e3c7382b8f3c7', -2140758404564384147, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', -7108266537271903226, 'a6', 2, 13);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', 6178550179938219056, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', -7115824996294659207, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', 242585162750295383, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', 2593106528870961235, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', 6693405811656790470, 'a10', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', 5976163344243740031, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', -6621843666560934601, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', 4064749540805219748, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '9c1d7eb679d54d2b915803c47a8bbdb9', 4170155853440299947, 'a7', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', 8140228829568839870, 'a7', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', 4046624160735462676, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', 1192379727884727642, 'a10', 2, 25);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', -6568611754674938698, 'a6', 2, 27);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', -1851336152690817331, 'a2', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', -5867713538241932809, 'a9', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', 2702775456376499217, 'a5', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'bbf9859f799c469da5229b0c0e2059a8', 3455195880967308573, 'a1', 1, 12);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', -5139143404000515024, 'a2', 1, 17);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', 2209705950457600947, 'a9', 2, 31);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', 7535333257401884750, 'a5', 2, 33);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', 444124358257566819, 'a1', 1, 20);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', 474178355066977217, 'a8', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', 3127231905035387063, 'a4', 1, 14);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', 958857316209488181, 'a0', 1, 15);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '1eed5fe2f6d24dcb8731fa683a6a2bb7', -4138095651069167219, 'a7', 1, 16);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', -7603790336285702338, 'a8', 1, 21);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', -1529793774420405458, 'a4', 2, 39);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', 6957556283861015054, 'a0', 2, 41);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', -1842004392764532846, 'a7', 2, 43);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', -3704786386963772325, 'a3', 2, 37);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', -2809153142912531174, 'a10', 1, 18);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', 4882849373286437907, 'a6', 1, 19);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'fd0a81e7a2704ae98390a721412de485', 2338232029511342261, 'a2', 1, 20);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, 'fb56cbf6427ba241515db53227b4e612');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-28 03:06:39.172564+00');
INSERT INTO public.trident_state_schema VALUES (2, '2026-11-28 03:06:39.173082+00');
INSERT INTO public.trident_state_schema VALUES (3, '2026-11-28 03:06:39.17348+00');
INSERT INTO public.trident_topology VALUES ('payments', '58b15743905c884b', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}},"dropped":[]}', '2026-11-28 03:06:39.206591+00', 'active');
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
ALTER TABLE ONLY public.trident_error
    ADD CONSTRAINT trident_error_pkey PRIMARY KEY (topology, incarnation, id);
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
