CREATE TABLE public.accepted (
    manifest text
);
CREATE TABLE public.counts (
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
CREATE TABLE public.trident_staging_counts (
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
INSERT INTO public.accepted VALUES ('{"state":"counts","write_id":"1a26205ae4e64975ae172ac4627bb536","digest":{"count":3,"low":7514972049,"high":6219109505,"xor":-9129887171765625115}}');
INSERT INTO public.counts VALUES ('ann', 3, 2, 1, 1, 1, 2);
INSERT INTO public.counts VALUES ('bob', 2, -3, 1, -1, 1, 2);
INSERT INTO public.counts VALUES (NULL, 2, 2, 1, 1, 1, 2);
INSERT INTO public.trident_applied VALUES ('orders', 'counts', 'counts', 'first-life', 3, 'c', 2, 20, 0, 3, '16420:16420');
INSERT INTO public.trident_staging_counts VALUES (1, 10, 'd11fd2a382964052bc71bc93da1a1c45', 2402121017739721466, 'ann', 1, 1);
INSERT INTO public.trident_staging_counts VALUES (1, 10, 'd11fd2a382964052bc71bc93da1a1c45', -8267102449006139141, 'bob', 1, -1);
INSERT INTO public.trident_staging_counts VALUES (1, 10, 'd11fd2a382964052bc71bc93da1a1c45', 7577555006658736442, NULL, 1, 1);
INSERT INTO public.trident_staging_counts VALUES (2, 20, '897d83cac2654abca532e7911fc04ed3', -1575391638107222669, 'ann', 2, 1);
INSERT INTO public.trident_staging_counts VALUES (2, 20, '897d83cac2654abca532e7911fc04ed3', -3278557894869004949, 'bob', 1, -2);
INSERT INTO public.trident_staging_counts VALUES (2, 20, '897d83cac2654abca532e7911fc04ed3', 888371657025173449, NULL, 1, 1);
INSERT INTO public.trident_staging_counts VALUES (3, 30, '1a26205ae4e64975ae172ac4627bb536', 5233423433788198983, 'ann', 3, 1);
INSERT INTO public.trident_staging_counts VALUES (3, 30, '1a26205ae4e64975ae172ac4627bb536', 4157173540339442294, 'bob', 1, -3);
INSERT INTO public.trident_staging_counts VALUES (3, 30, '1a26205ae4e64975ae172ac4627bb536', -1126469106104472364, NULL, 1, 1);
INSERT INTO public.trident_state_fence VALUES ('orders', 3, 'c');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-22 08:37:11.239989+00');
INSERT INTO public.trident_state_schema VALUES (2, '2026-11-22 08:37:11.256153+00');
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_pkey PRIMARY KEY (topology, state);
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_table_name_key UNIQUE (table_name);
ALTER TABLE ONLY public.trident_state_fence
    ADD CONSTRAINT trident_state_fence_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_state_schema
    ADD CONSTRAINT trident_state_schema_pkey PRIMARY KEY (version);
CREATE INDEX trident_by_txid_trident_staging_counts ON public.trident_staging_counts USING btree (trident_txid);
CREATE UNIQUE INDEX trident_key_counts ON public.counts USING btree (account) NULLS NOT DISTINCT;
