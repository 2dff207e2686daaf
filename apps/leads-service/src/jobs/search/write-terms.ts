import { SEARCH_FORMAT } from '@leadwire/contracts'
import { columnsOf, type OpenTransaction, statement } from '@leadwire/service-kit'
import { personTerms } from './person-terms'
import { type Searched, termsOf } from './search-terms'

const addProgress = statement('add-search-progress')`
  INSERT INTO lead_search_progress (account_id, format) VALUES ($1, ${SEARCH_FORMAT}) ON CONFLICT DO NOTHING`

const LOCK_PROGRESS =
  'SELECT number, format, suspected FROM lead_search_progress WHERE account_id = $1 FOR UPDATE'

const selectLeads = statement<Searched & { number: number; created_at: string }>('searched-leads')`
  SELECT number, name, postcode, first_name, last_name, company_name, email, phone, phone_link, mobile, mobile_link,
    created_at FROM leads
  WHERE account_id = $1 AND number > $2 AND number <= $3 ORDER BY number`

const deleteTerms = statement('delete-terms')`
  DELETE FROM lead_search WHERE account_id = $1 AND number > $2 AND number <= $3`

// In the order of the index, so that the rows of a page of it come one after the other.
const insertTerms = statement('insert-terms')`
  INSERT INTO lead_search (account_id, term, number)
  SELECT $1, term, number FROM unnest($2::text[], $3::bigint[]) AS made (term, number) ORDER BY term, number`

/** A term of the lead with a number. */
export type PersonTerm = { number: number; term: string; createdAt: string }

interface Progress {
  number: number
  format: number
  /** Up to which number duplicates were reported; null: as `number`. */
  suspected: number | null
}

/**
 * Locks how far the words of an account's leads have been written. With `skip` undefined where another transaction has it.
 * Whatever changes or empties what a lead is found by (`Searched`) locks it, too, and deletes or writes the lead's words behind
 * it: nothing older is written afterwards.
 */
export const lockProgress = async (
  tx: OpenTransaction,
  accountId: number,
  { skip }: { skip: boolean },
): Promise<Progress | undefined> => {
  addProgress.send(tx, accountId)
  const [progress] = await tx.query<Progress>({
    name: `lock-search-progress${skip ? '-or-skip' : ''}`,
    text: skip ? `${LOCK_PROGRESS} SKIP LOCKED` : LOCK_PROGRESS,
    values: [accountId],
  })
  return progress
}

/**
 * Writes the words of the leads behind number `after` up to `last` anew. The account's progress must be locked. Resolves with the
 * terms of persons.
 */
export const writeTerms = async (
  tx: OpenTransaction,
  accountId: number,
  { after, last }: { after: number; last: number },
): Promise<PersonTerm[]> => {
  deleteTerms.send(tx, accountId, after, last)
  const leads = await selectLeads(tx, accountId, after, last)
  const withTerms = (made: (lead: Searched) => string[]) =>
    leads.flatMap((lead) =>
      made(lead).map((term) => ({ number: lead.number, term, createdAt: lead.created_at })),
    )
  const persons = withTerms(personTerms)
  const all = [...withTerms(termsOf), ...persons]
  insertTerms.send(tx, accountId, ...columnsOf(all, 'term', 'number'))
  return persons
}
