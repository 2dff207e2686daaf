import { SEARCH_FORMAT } from '@leadwire/contracts'
import { type OpenTransaction, splitIntoColumns, statement } from '@leadwire/service-kit'
import { personTerms } from './person-terms'
import { listSearchTerms, NOTE_CHARACTERS, type SearchedWithNotes } from './search-terms'

const addProgress = statement('add-search-progress')`
  INSERT INTO lead_search_progress (account_id, format) VALUES ($1, ${SEARCH_FORMAT}) ON CONFLICT DO NOTHING`

const LOCK_PROGRESS =
  'SELECT number, format, suspected FROM lead_search_progress WHERE account_id = $1 FOR UPDATE'

// Reads at most 100 notes of a lead, because the notes of a lead may have megabytes of text.
const selectLeads = statement<SearchedWithNotes & { number: number; created_at: string }>('searched-leads')`
  SELECT number, name, postcode, first_name, last_name, company_name, email, phone, phone_link, mobile, mobile_link,
    created_at, (
      SELECT left(string_agg(newest.text, ' ' ORDER BY newest.id DESC), ${NOTE_CHARACTERS}) FROM (
        SELECT id, text FROM notes WHERE account_id = l.account_id AND lead_id = l.id ORDER BY id DESC LIMIT 100
      ) newest
    ) AS notes
  FROM leads l
  WHERE account_id = $1 AND number > $2 AND number <= $3 ORDER BY number`

const deleteTerms = statement('delete-terms')`
  DELETE FROM lead_search WHERE account_id = $1 AND number > $2 AND number <= $3`

// Sorts the rows like the index, so that the entries of one page of the index are inserted one after the
// other.
const insertTerms = statement('insert-terms')`
  INSERT INTO lead_search (account_id, term, number)
  SELECT $1, term, number FROM unnest($2::text[], $3::bigint[]) AS made (term, number) ORDER BY term, number`

/** A person term (`personTerms`), and the number and creation time of its lead. */
export type PersonTerm = { number: number; term: string; createdAt: string }

interface Progress {
  number: number
  format: number
  /** Suspected duplicates of leads up to this number have been reported. */
  suspected: number
}

/**
 * Locks the search progress of an account. Resolves with undefined if `skip` is set and another transaction
 * has the lock. A transaction that changes or erases a field in `Searched` or a note must take this lock
 * before it rewrites or deletes the lead's terms. Otherwise an indexer that has read the old text could write
 * outdated terms afterwards.
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
 * Rewrites the search terms of the leads with numbers above `after`, up to `last`. The caller must have
 * locked the account's search progress. Resolves with the person terms of these leads.
 */
export const writeTerms = async (
  tx: OpenTransaction,
  accountId: number,
  { after, last }: { after: number; last: number },
): Promise<PersonTerm[]> => {
  deleteTerms.send(tx, accountId, after, last)
  const leads = await selectLeads(tx, accountId, after, last)
  const withTerms = (made: (lead: SearchedWithNotes) => string[]) =>
    leads.flatMap((lead) =>
      made(lead).map((term) => ({ number: lead.number, term, createdAt: lead.created_at })),
    )
  const persons = withTerms(personTerms)
  const all = [...withTerms(listSearchTerms), ...persons]
  insertTerms.send(tx, accountId, ...splitIntoColumns(all, 'term', 'number'))
  return persons
}

/**
 * Rewrites the search terms of a lead whose fields or notes have changed. The lead must be locked. Locks the
 * search progress. Does nothing if the lead is not indexed yet.
 */
export const replaceSearchTerms = async (
  tx: OpenTransaction,
  accountId: number,
  number: number,
): Promise<void> => {
  const progress = await lockProgress(tx, accountId, { skip: false })
  if (number <= progress!.number) await writeTerms(tx, accountId, { after: number - 1, last: number })
}
