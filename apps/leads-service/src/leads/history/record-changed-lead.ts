import { type OpenTransaction, statement } from '@leadwire/service-kit'

const insert = statement('record-changed-lead')`
  INSERT INTO changed_leads (account_id, lead_id) VALUES ($1, $2)`

/**
 * Records that the figures of a lead may have changed, in the transaction of the change. `recordLeadChange`
 * calls this function. Other changes that add an appointment, a callback or a note call it themselves.
 */
export const recordChangedLead = (tx: OpenTransaction, accountId: number, leadId: number): void =>
  insert.send(tx, accountId, leadId)
