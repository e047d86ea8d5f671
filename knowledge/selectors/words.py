"""Search by words, in SQL. A word weighs the more the fewer of the visible passages hold it, and a passage scores the
share of the query's weight that it covers: 0 to 1, the same scale for every query."""

from typing import LiteralString

# At most 50 words: more say little, and each costs time.
WORDS: LiteralString = """
    words AS MATERIALIZED (
        SELECT ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''')::tsquery AS word
        FROM unnest(to_tsvector('english', %(text)s)) ORDER BY lexeme LIMIT 50
    ), any_word AS MATERIALIZED (
        SELECT string_agg(word::text, ' | ')::tsquery AS query FROM words
    )
"""
# After `matched` (id, source_id, terms) and `visible` (total). A word in a heading counts less than one in the text.
SCORED: LiteralString = """
    weights AS MATERIALIZED (
        SELECT w.word, ln(1 + (greatest(n.total - count(m.id), 0) + 0.5) / (count(m.id) + 0.5)) AS weight
        FROM words w CROSS JOIN visible n LEFT JOIN matched m ON m.terms @@ w.word
        GROUP BY w.word, n.total
    ), scored AS MATERIALIZED (
        SELECT m.id, m.source_id,
               (sum(w.weight * ts_rank('{1.0, 1.0, 0.6, 1.0}'::real[], m.terms, w.word))
                   / (SELECT sum(weight) FROM weights))::float8 AS raw
        FROM matched m JOIN weights w ON m.terms @@ w.word
        GROUP BY m.id, m.source_id
    )
"""
