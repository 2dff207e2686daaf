import type { LeadCreated } from '@leadwire/contracts'

/** What only PostgreSQL can say of a new lead, when it is written. */
export interface Stamp {
  accountKey: string
  id: number
  customerId: number
  /** ISO 8601 with microseconds. */
  createdAt: string
}

/** What stands for a stamp, and for every id and time of a lead, until they are known. All have the length of any other. */
export const UNKNOWN: Stamp = {
  accountKey: '-'.repeat(50),
  id: 1,
  customerId: 1,
  createdAt: '0001-01-01T00:00:00.000000Z',
}

/** The event of a lead as it was drafted before it was written, made complete. */
export const stampEvent = (draft: LeadCreated, stamp: Stamp): LeadCreated => {
  const { accountKey, id, customerId, createdAt } = stamp
  const lead = draft.lead!
  const customer = { ...lead.customer!, id: customerId, createdAt }
  return { ...draft, accountKey, lead: { ...lead, id, createdAt, updatedAt: createdAt, customer } }
}
