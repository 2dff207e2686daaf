import type { LeadCreated } from '@leadwire/contracts'

/** What only PostgreSQL can say of a new lead. */
export interface Stamp {
  accountKey: string
  /** Dense within the account. */
  number: number
  id: number
  customerId: number
  /** ISO 8601 with microseconds. */
  createdAt: string
  quoteIds: number[]
  itemIds: number[]
}

/** What stands for a stamp, and for every id and time of a lead, until they are known. All have the length of any other. */
export const UNKNOWN = {
  accountKey: '-'.repeat(50),
  id: 1,
  createdAt: '0001-01-01T00:00:00.000000Z',
}

/** The event of a lead as it was drafted before it was numbered, made complete. */
export const stampEvent = (draft: LeadCreated, stamp: Stamp): LeadCreated => {
  const { accountKey, id, customerId, createdAt } = stamp
  const lead = draft.lead!
  const customer = { ...lead.customer!, id: customerId, createdAt }
  const [quoteIds, itemIds] = [stamp.quoteIds.values(), stamp.itemIds.values()]
  const times = { createdAt, updatedAt: createdAt }
  const quotes = lead.quotes.map((quote) => {
    const quoteId = quoteIds.next().value!
    const items = quote.items.map((item) => ({ ...item, ...times, id: itemIds.next().value!, quoteId }))
    return { ...quote, ...times, id: quoteId, leadId: id, items }
  })
  return { ...draft, accountKey, lead: { ...lead, id, createdAt, updatedAt: createdAt, customer, quotes } }
}
