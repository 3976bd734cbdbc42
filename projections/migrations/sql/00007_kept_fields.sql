-- +goose Up
-- Rows: as they were.

-- Sealed fields are kept as bytes (events.Kept) where they were JSON: ids and boxes of bytes take less than half, and nobody looks
-- inside them here. kept writes what events.Placed.Keep writes.
-- +goose StatementBegin
CREATE FUNCTION kept_length(n bigint) RETURNS bytea LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    rest bigint := n;
    b    bytea  := '';
BEGIN
    WHILE rest > 127 LOOP
        b := b || set_byte('\x00', 0, (rest & 127 | 128)::integer);
        rest := rest >> 7;
    END LOOP;
    RETURN b || set_byte('\x00', 0, rest::integer);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION kept_text(s text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT kept_length(octet_length(s)) || convert_to(s, 'UTF8')
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION kept_id(s text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN s ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN '\x00'::bytea || decode(replace(s, '-', ''), 'hex')
        ELSE kept_length(octet_length(s) + 1) || convert_to(s, 'UTF8') END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION kept_box(s text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    b bytea;
BEGIN
    IF s ~ '^[A-Za-z0-9_-]*$' AND length(s) % 4 <> 1 THEN
        b := decode(translate(s, '-_', '+/') || repeat('=', (4 - length(s) % 4) % 4), 'base64');
        IF rtrim(translate(replace(encode(b, 'base64'), E'\n', ''), '+/', '-_'), '=') = s THEN
            RETURN kept_length(2 * length(b)) || b;
        END IF;
    END IF;
    RETURN kept_length(2 * octet_length(s) + 1) || convert_to(s, 'UTF8');
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION kept(p jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT '\x01'::bytea || kept_text(p ->> 'field')
        || kept_text(p -> 'key' ->> 'organisation') || kept_text(p -> 'key' ->> 'class') || kept_id(p -> 'key' ->> 'member')
        || kept_text(p -> 'key' ->> 'tier') || kept_id(p -> 'key' ->> 'row') || kept_id(p -> 'key' ->> 'entry')
        || kept_text(p -> 'aggregate' ->> 'kind') || kept_id(p -> 'aggregate' ->> 'id')
        || kept_id(p ->> 'event') || kept_length((p ->> 'previous')::bigint)
        || kept_box(p -> 'sealed' ->> 'box') || kept_box(p -> 'sealed' ->> 'commitment')
        || kept_text(CASE WHEN p -> 'sealed' ->> 'key' = concat_ws('/', p -> 'key' ->> 'class', nullif(p -> 'key' ->> 'tier', ''), nullif(p -> 'key' ->> 'row', ''))
            THEN '' ELSE p -> 'sealed' ->> 'key' END)
$$;
-- +goose StatementEnd

ALTER TABLE memory_records ALTER body TYPE bytea USING kept(body), ALTER labels TYPE bytea USING kept(labels), ALTER details TYPE bytea USING kept(details);
ALTER TABLE memory_revisions ALTER body TYPE bytea USING kept(body), ALTER labels TYPE bytea USING kept(labels), ALTER details TYPE bytea USING kept(details);
ALTER TABLE proposals ALTER body TYPE bytea USING kept(body), ALTER labels TYPE bytea USING kept(labels), ALTER details TYPE bytea USING kept(details),
    ALTER notes TYPE bytea USING kept(notes);
ALTER TABLE consents ALTER record TYPE bytea USING kept(record);

DROP FUNCTION kept(jsonb);
DROP FUNCTION kept_box(text);
DROP FUNCTION kept_id(text);
DROP FUNCTION kept_text(text);
DROP FUNCTION kept_length(bigint);

-- As before, for the new type; and no query asks what is inside, so that nobody needs to gather it.
-- +goose StatementBegin
DO $$
DECLARE
    kept text[];
BEGIN
    FOREACH kept SLICE 1 IN ARRAY ARRAY[
        ['memory_records', 'body'], ['memory_records', 'labels'], ['memory_records', 'details'],
        ['memory_revisions', 'body'], ['memory_revisions', 'labels'], ['memory_revisions', 'details'],
        ['proposals', 'body'], ['proposals', 'labels'], ['proposals', 'details'], ['proposals', 'notes'], ['consents', 'record']
    ] LOOP
        EXECUTE format('ALTER TABLE %1$I ALTER %2$I SET STORAGE MAIN, ALTER %2$I SET STATISTICS 0', kept[1], kept[2]);
    END LOOP;
END
$$;
-- +goose StatementEnd
