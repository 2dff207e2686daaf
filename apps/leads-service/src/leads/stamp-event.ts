import type { LeadCreated } from '@leadwire/contracts'

/** What only PostgreSQL can say of a new lead, when it is written. */
export interface Stamp {
  accountKey: string
  id: number
  customerId: number
  /** ISO 8601 with microseconds. */
  createdAt: string
}

/** The event of a lead as it was drafted before it was written, made complete. */
export const stampEvent = (draft: LeadCreated, stamp: Stamp): LeadCreated => {
  const { accountKey, id, customerId, createdAt } = stamp
  const lead = draft.lead!
  const customer = { ...lead.customer!, id: customerId, createdAt }
  return { ...draft, accountKey, lead: { ...lead, id, createdAt, updatedAt: createdAt, customer } }
}
