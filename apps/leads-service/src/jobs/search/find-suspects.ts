import { type OpenTransaction, splitIntoColumns, statement } from '@leadwire/service-kit'
import { REASONS } from './person-terms'
import type { PersonTerm } from './write-terms'

/** The maximum number of suspects that are found for a lead. */
const LIMIT = 20

type Reason = (typeof REASONS)[keyof typeof REASONS]

/** A lead that may belong to the same person as another lead. */
export interface Suspect {
  reference: string
  reasons: Reason[]
}

// Excludes bitmap scans, which would read and sort all leads of a person. Excludes sequential scans, which
// PostgreSQL would keep using if it made the plan while there were few leads.
const set = statement('settings-of-suspects')`
  SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)`

/**
 * Returns the SQL after FROM that finds one lead of the account in $1 by its number. With a plain equality,
 * PostgreSQL could use another index, because it may keep a plan that it made while there were few leads.
 * With BETWEEN and ORDER BY, PostgreSQL can only use the index on (account_id, number).
 */
export const leadByNumber = (number: string) =>
  `leads WHERE account_id = $1 AND number BETWEEN ${number} AND ${number} ORDER BY number LIMIT 1`

// For each term, finds the newest leads with the term in one range of the primary key. With `term = …`,
// PostgreSQL could instead read the whole index on (account_id, number). LIMIT applies before the check of
// created_at. The limit still keeps the newest leads, because created_at rises with the number.
const select = statement<Row>('find-suspects')`
  SELECT found.number, o.reference, found.marks
  FROM (
    SELECT asked.number, asked.created_at, one.number AS other, array_agg(left(asked.term, 1)) AS marks
    FROM unnest($2::bigint[], $3::text[], $4::timestamptz[]) AS asked (number, term, created_at)
    CROSS JOIN LATERAL (
      SELECT s.number FROM lead_search s
      WHERE s.account_id = $1 AND (s.term, s.number) < (asked.term, coalesce($5, asked.number)) AND s.term >= asked.term
        AND s.number <> asked.number
      ORDER BY s.term DESC, s.number DESC LIMIT ${LIMIT}
    ) one
    GROUP BY 1, 2, 3
  ) found
  CROSS JOIN LATERAL (
    SELECT reference, created_at FROM ${leadByNumber('found.other')}
  ) o
  WHERE o.created_at >= found.created_at - make_interval(secs => $6)
  ORDER BY found.number, found.other DESC`

type Row = { number: number; reference: string; marks: string[] }

const listReasons = (marks: string[]): Reason[] =>
  Object.entries(REASONS).flatMap(([mark, reason]) => (marks.includes(mark) ? reason : []))

/**
 * Finds the suspects of each lead in `terms`: other leads that share a term with the lead, and that were
 * created no earlier than `windowMs` before the lead. Suspects have numbers below `before`, or by default
 * below the lead's number. Resolves with a map from the number of a lead to its suspects, newest first. The
 * map leaves out leads without suspects.
 */
export const findSuspects = async (
  tx: OpenTransaction,
  accountId: number,
  { terms, before, windowMs }: { terms: PersonTerm[]; before?: number; windowMs: number },
): Promise<Map<number, Suspect[]>> => {
  set.send(tx)
  const asked = splitIntoColumns(terms, 'number', 'term', 'createdAt')
  const rows = await select(tx, accountId, ...asked, before ?? null, windowMs / 1000)
  const found = new Map<number, Suspect[]>()
  for (const { number, reference, marks } of rows) {
    const suspects = found.get(number) ?? []
    if (suspects.length < LIMIT) suspects.push({ reference, reasons: listReasons(marks) })
    found.set(number, suspects)
  }
  return found
}
