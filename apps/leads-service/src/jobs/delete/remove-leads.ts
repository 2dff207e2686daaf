import { lockProgress } from '../search/write-terms'
import type { DeletionDeps } from './deletion-deps'

/** Leads that one transaction removes. */
const BATCH = 100

const FIND = `
  SELECT id, number, reference FROM leads WHERE account_id = $1 ORDER BY id LIMIT ${BATCH}`

const FIND_FILES = 'SELECT key FROM attachments WHERE account_id = $1 AND lead_id = ANY ($2)'

const OF_QUOTES = `quote_id = ANY (ARRAY (SELECT id FROM quotes WHERE account_id = $1 AND lead_id = ANY ($2)))`

/** What belongs to leads, in the order in which it can be deleted: a further table is a further entry. */
const CONDITIONS: [table: string, condition: string][] = [
  ['erasures', 'lead_id = ANY ($2)'],
  ['lead_changes', 'lead_id = ANY ($2)'],
  ['appointments', 'lead_id = ANY ($2)'],
  ['callbacks', 'lead_id = ANY ($2)'],
  ['attachments', 'lead_id = ANY ($2)'],
  ['quote_items', OF_QUOTES],
  ['quotes', 'lead_id = ANY ($2)'],
  ['leads', 'id = ANY ($2)'],
]

const DELETE_WORDS = 'DELETE FROM lead_search WHERE account_id = $1 AND number = ANY ($2)'

const COUNT = 'UPDATE account_deletions SET removed_leads = removed_leads + $2 WHERE account_id = $1'

interface FoundLead {
  id: number
  number: number
  reference: string
}

const deleteRows = ({ database }: DeletionDeps, accountId: number, leads: FoundLead[]): Promise<void> =>
  database.transaction(async (tx) => {
    const ids = leads.map(({ id }) => id)
    for (const [table, condition] of CONDITIONS)
      tx.send({
        text: `DELETE FROM ${table} WHERE account_id = $1 AND ${condition}`,
        values: [accountId, ids],
      })
    // Who has read the leads to write their words has committed them then; who comes later finds no leads.
    await lockProgress(tx, accountId, { skip: false })
    tx.send({ text: DELETE_WORDS, values: [accountId, leads.map(({ number }) => number)] })
    tx.send({ text: COUNT, values: [accountId, leads.length] })
  })

/** Removes a batch of an account's leads from every store, their rows last. Resolves with whether there were any. */
export const removeLeads = async (deps: DeletionDeps, accountId: number): Promise<boolean> => {
  const leads = await deps.database.query<FoundLead>({ text: FIND, values: [accountId] })
  if (leads.length === 0) return false
  const ids = leads.map(({ id }) => id)
  const files = await deps.database.query<{ key: string }>({ text: FIND_FILES, values: [accountId, ids] })
  await deps.deleteFiles(files.map(({ key }) => key))
  const leadReferences = leads.map(({ reference }) => reference)
  const { messages } = await deps.webhooks.removeLeadEvents({ accountId, leadReferences })
  for (const message of messages) await deps.deleteMessage(message)
  await deleteRows(deps, accountId, leads)
  return true
}
