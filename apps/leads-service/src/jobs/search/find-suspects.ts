import { columnsOf, type OpenTransaction, statement } from '@leadwire/service-kit'
import { REASONS } from './person-terms'
import type { PersonTerm } from './write-terms'

/** How many suspects a lead has at most. */
const LIMIT = 20

type Reason = (typeof REASONS)[keyof typeof REASONS]

/** A lead that may be of the same person. */
export interface Suspect {
  reference: string
  reasons: Reason[]
}

// A bitmap would read and sort all leads of a person, and a plan that was made while there were few leads would read all of them.
const set = statement('settings-of-suspects')`
  SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)`

/** One lead of the account by the index of numbers: a plan that was made while there were few leads could take any, but not in its order. */
export const leadByNumber = (number: string) =>
  `leads WHERE account_id = $1 AND number BETWEEN ${number} AND ${number} ORDER BY number LIMIT 1`

// The newest of each term, by one range of the primary key: of an equal term the index by number could be taken, and read whole.
// Numbers and created_at rise together: what is too old is behind the others.
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

const reasonsOf = (marks: string[]): Reason[] =>
  Object.entries(REASONS).flatMap(([mark, reason]) => (marks.includes(mark) ? reason : []))

/**
 * The newest leads that share a term with a lead, newest first, by the lead's number: those created before it, or with a number below
 * `before`, and at most `windowMs` earlier. A lead without any is left out.
 */
export const findSuspects = async (
  tx: OpenTransaction,
  accountId: number,
  { terms, before, windowMs }: { terms: PersonTerm[]; before?: number; windowMs: number },
): Promise<Map<number, Suspect[]>> => {
  set.send(tx)
  const asked = columnsOf(terms, 'number', 'term', 'createdAt')
  const rows = await select(tx, accountId, ...asked, before ?? null, windowMs / 1000)
  const found = new Map<number, Suspect[]>()
  for (const { number, reference, marks } of rows) {
    const suspects = found.get(number) ?? []
    if (suspects.length < LIMIT) suspects.push({ reference, reasons: reasonsOf(marks) })
    found.set(number, suspects)
  }
  return found
}
