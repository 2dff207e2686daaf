import type { OpenTransaction } from '@leadwire/service-kit'
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

// It would read and sort all leads of a person.
const SETTING = 'SET LOCAL enable_bitmapscan = off'

// The newest of each term, by one range of the primary key: of an equal term the index by number could be taken, and read whole.
// LIMIT 1 keeps the order of the joins. Numbers and created_at rise together: what is too old is behind the others.
const SELECT = `
  SELECT asked.number, o.reference, array_agg(left(asked.term, 1)) AS marks
  FROM unnest($2::bigint[], $3::text[]) AS asked (number, term)
  CROSS JOIN LATERAL (SELECT created_at FROM leads WHERE account_id = $1 AND number = asked.number LIMIT 1) own
  CROSS JOIN LATERAL (
    SELECT s.number FROM lead_search s
    WHERE s.account_id = $1 AND (s.term, s.number) < (asked.term, coalesce($4, asked.number)) AND s.term >= asked.term
      AND s.number <> asked.number
    ORDER BY s.term DESC, s.number DESC LIMIT ${LIMIT}
  ) found
  CROSS JOIN LATERAL (
    SELECT reference, created_at FROM leads WHERE account_id = $1 AND number = found.number LIMIT 1
  ) o
  WHERE o.created_at >= own.created_at - make_interval(secs => $5)
  GROUP BY asked.number, found.number, o.reference ORDER BY asked.number, found.number DESC`

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
  tx.send({ text: SETTING })
  const asked = [terms.map(({ number }) => number), terms.map(({ term }) => term)]
  const rows = await tx.query<Row>({
    name: 'find-suspects',
    text: SELECT,
    values: [accountId, ...asked, before ?? null, windowMs / 1000],
  })
  const found = new Map<number, Suspect[]>()
  for (const { number, reference, marks } of rows) {
    const suspects = found.get(number) ?? []
    if (suspects.length < LIMIT) suspects.push({ reference, reasons: reasonsOf(marks) })
    found.set(number, suspects)
  }
  return found
}
