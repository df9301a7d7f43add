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
    birth_txid bigint NOT NULL
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
INSERT INTO public.accepted VALUES ('{"state":"counts","write_id":"8ab98a6fc850415c90a7ff85052ef853","digest":{"count":3,"low":6171939028,"high":5509349249,"xor":-2761323951391948966}}');
INSERT INTO public.counts VALUES ('ann', 3, 2, 1, 1, 1, 2);
INSERT INTO public.counts VALUES ('bob', 2, -3, 1, -1, 1, 2);
INSERT INTO public.counts VALUES (NULL, 2, 2, 1, 1, 1, 2);
INSERT INTO public.trident_applied VALUES ('orders', 'counts', 'counts', 'first-life', 3, 'c', 2, 20, 0);
INSERT INTO public.trident_staging_counts VALUES (1, 10, '7f0524850f4c4172b30e4de10321de98', 7747626654811137056, 'ann', 1, 1);
INSERT INTO public.trident_staging_counts VALUES (1, 10, '7f0524850f4c4172b30e4de10321de98', 3009513961905336500, 'bob', 1, -1);
INSERT INTO public.trident_staging_counts VALUES (1, 10, '7f0524850f4c4172b30e4de10321de98', 7281169517155624370, NULL, 1, 1);
INSERT INTO public.trident_staging_counts VALUES (2, 20, 'e4486749bd3046c094872a5881239c06', -8427144447287218259, 'ann', 2, 1);
INSERT INTO public.trident_staging_counts VALUES (2, 20, 'e4486749bd3046c094872a5881239c06', 5447295671078636989, 'bob', 1, -2);
INSERT INTO public.trident_staging_counts VALUES (2, 20, 'e4486749bd3046c094872a5881239c06', -214555752686297614, NULL, 1, 1);
INSERT INTO public.trident_staging_counts VALUES (3, 30, '8ab98a6fc850415c90a7ff85052ef853', 6619263026879862971, 'ann', 3, 1);
INSERT INTO public.trident_staging_counts VALUES (3, 30, '8ab98a6fc850415c90a7ff85052ef853', 3979929459374664765, 'bob', 1, -3);
INSERT INTO public.trident_staging_counts VALUES (3, 30, '8ab98a6fc850415c90a7ff85052ef853', -5383461707094979620, NULL, 1, 1);
INSERT INTO public.trident_state_fence VALUES ('orders', 3, 'c');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-21 20:52:20.394049+00');
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
