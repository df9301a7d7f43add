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
    streams text
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
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', 'cb11e62f1bde663d', 1, '3bd1a5f0b28ac6380a26aa0939c70bc7', 4, 4, 0, 11, '16788:16788');
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', 'cb11e62f1bde663d', 1, '3bd1a5f0b28ac6380a26aa0939c70bc7', 5, 5, 0, 11, '16771:16771');
INSERT INTO public.trident_commit VALUES ('payments', 'cb11e62f1bde663d', 1, 1, 1, 1, 10, 0, 20, 15, 655, 60, '2026-11-22 09:11:51.583271+00');
INSERT INTO public.trident_commit VALUES ('payments', 'cb11e62f1bde663d', 2, 2, 1, 1, 10, 1, 18, 11, 6, 42, '2026-11-22 09:11:51.657185+00');
INSERT INTO public.trident_commit VALUES ('payments', 'cb11e62f1bde663d', 3, 3, 1, 1, 10, 0, 12, 14, 6, 28, '2026-11-22 09:11:51.715238+00');
INSERT INTO public.trident_commit VALUES ('payments', 'cb11e62f1bde663d', 4, 4, 1, 1, 10, 0, 12, 9, 5, 33, '2026-11-22 09:11:51.773175+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', 'cb11e62f1bde663d', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-22 09:11:51.626412+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', 'cb11e62f1bde663d', 5, 's', 't', 2, 14, 5, NULL, 'unreadable', NULL, '\x7b', '2026-11-22 09:11:51.797334+00');
INSERT INTO public.trident_done_plan VALUES ('payments', 'cb11e62f1bde663d', 4, 4, '{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}');
INSERT INTO public.trident_fence VALUES ('payments', 1, '3bd1a5f0b28ac6380a26aa0939c70bc7', 'host-a:30852', 30883, NULL, NULL, '2026-11-22 09:11:50.479107+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-22 09:11:51.159361+00', 2, true);
INSERT INTO public.trident_incarnation VALUES ('payments', 'cb11e62f1bde663d', 0, '2026-11-22 09:11:50.656322+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]', 'open', '[{"state":"balances","txid":0},{"state":"totals","txid":0}]');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, 'cb11e62f1bde663d', 3, 'done', 'offsets were gone before they could be read', '2026-11-22 09:11:51.671992+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cb11e62f1bde663d', 1, 1, 1, '{}', '[["s",{"edge":6267670008097644138,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":9005176057582766730,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":8595607522145261950,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"1d56ccb08b4e43dba72aacf376b25d6d","digest":{"count":10,"low":18238590942,"high":18251112647,"xor":3509984377063430114}}]}]', '2026-11-22 09:11:51.536527+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cb11e62f1bde663d', 2, 2, 1, '{}', '[["s",{"edge":3753830868403389252,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":8203377924356821819,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":6981533020583305239,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":9,"writes":[]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"da3d5c6e9ccf4c4593de1c8ead654d94","digest":{"count":9,"low":24002953848,"high":20360378885,"xor":-1578328303755345586}}]}]', '2026-11-22 09:11:51.621381+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cb11e62f1bde663d', 3, 3, 1, '{}', '[["s",{"edge":132275002112504632,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":1435578158082040208,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":581871606141410537,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"143b099ad90144a18ff68b8208677c28","digest":{"count":6,"low":10485332065,"high":15776067526,"xor":7155915236106089587}}]}]', '2026-11-22 09:11:51.692552+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cb11e62f1bde663d', 4, 4, 1, '{}', '[["s",{"edge":3395459993073929603,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":6668657432329194581,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":6039085809864772823,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"cdbd9b38a7864021bff67c7d716f6cec","digest":{"count":6,"low":9090315326,"high":13702050740,"xor":7075472732592615980}}]}]', '2026-11-22 09:11:51.743511+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cb11e62f1bde663d', 5, 5, 1, '{}', '[["s",{"edge":1503488630186354134,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":3658317324107652775,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":3818935090357213870,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"0fc5e0b104e14a8782add527f4b1b0db","digest":{"count":6,"low":8149331985,"high":11615684269,"xor":-1550019099588784239}}]}]', '2026-11-22 09:11:51.796482+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, 'cb11e62f1bde663d', 1, 1, 1, 0, 'done', '2026-11-22 09:11:50.830733+00', '2026-11-22 09:11:50.843086+00', '{"changed":[["s","t","id",null,[[0,0,4],[1,0,3],[2,0,3]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, 'cb11e62f1bde663d', 2, 1, 1, 1, 'done', '2026-11-22 09:11:51.590195+00', '2026-11-22 09:11:51.598143+00', '{"changed":[["s","t","id",null,[[0,4,8],[1,3,6],[2,3,6]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, 'cb11e62f1bde663d', 3, 1, 1, 2, 'done', '2026-11-22 09:11:51.66068+00', '2026-11-22 09:11:51.667665+00', '{"changed":[["s","t","id",null,[[0,12,16],[1,6,9],[2,6,9]]]]}', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 4, 'cb11e62f1bde663d', 4, 1, 1, 3, 'done', '2026-11-22 09:11:51.718652+00', '2026-11-22 09:11:51.725426+00', '{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, 'cb11e62f1bde663d', 5, 1, 1, 4, 'live', '2026-11-22 09:11:51.776564+00', '2026-11-22 09:11:51.783315+00', '{"changed":[["s","t","id",null,[[0,20,24],[1,12,15],[2,12,15]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', 'cb11e62f1bde663d', 4, 4, 5, 5, 5, 5, NULL, NULL, 0);
INSERT INTO public.trident_schema VALUES (1, '2026-11-22 09:11:50.393568+00');
INSERT INTO public.trident_schema VALUES (2, '2026-11-22 09:11:50.410454+00');
INSERT INTO public.trident_schema VALUES (3, '2026-11-22 09:11:50.412984+00');
INSERT INTO public.trident_schema VALUES (4, '2026-11-22 09:11:50.42836+00');
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', 8674012989846966736, 'a0', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', 5049979459357014829, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', 2651627836431621674, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', 4859157778107022773, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', 4133521786064479862, 'a1', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', 204135428845976767, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', -5106032507931609436, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', -7456801017998438756, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', -3672349723642760881, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '1d56ccb08b4e43dba72aacf376b25d6d', -4736296371202896578, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', -7480037870359709293, 'a6', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', -7828537358772217902, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', 5652350482422604472, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', -5101074495437883922, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', 8681773687992961493, 'a0', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', -2614191772858930634, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', -8929243867064113038, 'a1', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', 4682396085306611484, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'da3d5c6e9ccf4c4593de1c8ead654d94', 8150006209469818068, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '143b099ad90144a18ff68b8208677c28', -6507086434545149854, 'a7', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '143b099ad90144a18ff68b8208677c28', -6878950402171470325, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '143b099ad90144a18ff68b8208677c28', 4275643607895960380, 'a10', 2, 22);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '143b099ad90144a18ff68b8208677c28', -1167716171127252247, 'a6', 2, 24);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '143b099ad90144a18ff68b8208677c28', 8570274257466080391, 'a2', 1, 9);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '143b099ad90144a18ff68b8208677c28', -4321447058213413048, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'cdbd9b38a7864021bff67c7d716f6cec', 2289328577693532560, 'a2', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'cdbd9b38a7864021bff67c7d716f6cec', -1792134283656688057, 'a9', 2, 28);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'cdbd9b38a7864021bff67c7d716f6cec', -6358011059107162826, 'a5', 2, 30);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'cdbd9b38a7864021bff67c7d716f6cec', -5675741462336884145, 'a1', 2, 32);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'cdbd9b38a7864021bff67c7d716f6cec', -6460162838553140816, 'a10', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'cdbd9b38a7864021bff67c7d716f6cec', 3059604596645051186, 'a6', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '0fc5e0b104e14a8782add527f4b1b0db', -2372959670768135590, 'a8', 2, 34);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '0fc5e0b104e14a8782add527f4b1b0db', 9041702759988111750, 'a4', 2, 36);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '0fc5e0b104e14a8782add527f4b1b0db', 304543397658359574, 'a0', 2, 38);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '0fc5e0b104e14a8782add527f4b1b0db', -3665493993416409376, 'a7', 1, 24);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '0fc5e0b104e14a8782add527f4b1b0db', -9025806275935067069, 'a9', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '0fc5e0b104e14a8782add527f4b1b0db', 266765625510484472, 'a5', 1, 14);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, '3bd1a5f0b28ac6380a26aa0939c70bc7');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-22 09:11:50.690432+00');
INSERT INTO public.trident_state_schema VALUES (2, '2026-11-22 09:11:50.691725+00');
INSERT INTO public.trident_topology VALUES ('payments', 'cb11e62f1bde663d', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}}}', '2026-11-22 09:11:50.654926+00');
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
