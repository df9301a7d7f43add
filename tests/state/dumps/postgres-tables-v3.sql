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
    relation text,
    is_sink boolean DEFAULT false NOT NULL
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
INSERT INTO public.accepted VALUES ('{"state":"counts","write_id":"a8cae16e42354f8b82e2661551e99ec8","digest":{"count":3,"low":10832542617,"high":8759299816,"xor":1578417002499586917}}');
INSERT INTO public.counts VALUES ('ann', 3, 2, 1, 1, 1, 2);
INSERT INTO public.counts VALUES ('bob', 2, -3, 1, -1, 1, 2);
INSERT INTO public.counts VALUES (NULL, 2, 2, 1, 1, 1, 2);
INSERT INTO public.trident_applied VALUES ('orders', 'counts', 'counts', 'first-life', 3, 'first.c', 2, 20, 0, 3, '16422:16422', false);
INSERT INTO public.trident_staging_counts VALUES (1, 10, 'a2f8b2a9e25f4db2ba9e4e6bede494f2', -1442421170240606344, 'ann', 1, 1);
INSERT INTO public.trident_staging_counts VALUES (1, 10, 'a2f8b2a9e25f4db2ba9e4e6bede494f2', -4828123269248169656, 'bob', 1, -1);
INSERT INTO public.trident_staging_counts VALUES (1, 10, 'a2f8b2a9e25f4db2ba9e4e6bede494f2', 7772045244879905731, NULL, 1, 1);
INSERT INTO public.trident_staging_counts VALUES (2, 20, 'f94885bda4094aff83e705a7644b4e9f', -8374822703933608467, 'ann', 2, 1);
INSERT INTO public.trident_staging_counts VALUES (2, 20, 'f94885bda4094aff83e705a7644b4e9f', 1292173542080738057, 'bob', 1, -2);
INSERT INTO public.trident_staging_counts VALUES (2, 20, 'f94885bda4094aff83e705a7644b4e9f', 1015163866704760056, NULL, 1, 1);
INSERT INTO public.trident_staging_counts VALUES (3, 30, 'a8cae16e42354f8b82e2661551e99ec8', 6826915962100212062, 'ann', 3, 1);
INSERT INTO public.trident_staging_counts VALUES (3, 30, 'a8cae16e42354f8b82e2661551e99ec8', -1127755324323859967, 'bob', 1, -3);
INSERT INTO public.trident_staging_counts VALUES (3, 30, 'a8cae16e42354f8b82e2661551e99ec8', -4971742528784095174, NULL, 1, 1);
INSERT INTO public.trident_state_fence VALUES ('orders', 3, 'first.c');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-23 11:20:23.557001+00');
INSERT INTO public.trident_state_schema VALUES (2, '2026-11-23 11:20:23.559695+00');
INSERT INTO public.trident_state_schema VALUES (3, '2026-11-23 11:20:23.562548+00');
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
