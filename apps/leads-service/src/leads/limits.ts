import type { CreateLead } from '@leadwire/contracts'
import type { Faults } from '@leadwire/service-kit'
import { HEADER_BYTES } from '../outbox/publish'

/** How large a lead may be. */
export interface Limits {
  /** Quotes of a lead. */
  maxQuotes: number
  /** Items in all quotes of a lead. */
  maxItems: number
  /** Bytes of its event as it is published, with its headers. */
  maxEventBytes: number
}

const figure = (count: number) => count.toLocaleString('en-GB')

const tooMany = (what: string, count: number, max: number) =>
  count > max ? [`A lead may not have more than ${figure(max)} ${what}; this one has ${figure(count)}.`] : []

/** What is wrong with a lead that has more quotes or items than a lead may have. */
export const countFaults = ({ lead }: CreateLead, { maxQuotes, maxItems }: Limits): Faults => {
  const { quotes } = lead!
  const items = quotes.reduce((sum, quote) => sum + quote.items.length, 0)
  const messages = [
    ...tooMany('quotes', quotes.length, maxQuotes),
    ...tooMany('items in all', items, maxItems),
  ]
  return messages.length > 0 ? { quotes: messages } : {}
}

/**
 * What is wrong with a lead whose event is larger than an event may be: it would be stored and never told. A small body
 * can make a large event, because each item carries its image. `payloadBytes` is the exact size without headers.
 */
export const sizeFaults = ({ lead }: CreateLead, payloadBytes: number, { maxEventBytes }: Limits): Faults => {
  const bytes = payloadBytes + HEADER_BYTES
  if (bytes <= maxEventBytes) return {}
  const field = lead!.quotes.length > 0 ? 'quotes' : 'description'
  const limit = `The event of a lead may not have more than ${figure(maxEventBytes)} bytes`
  return { [field]: [`${limit}; this one's would have ${figure(bytes)}.`] }
}
