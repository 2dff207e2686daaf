import type { CreateLead } from '@leadwire/contracts'
import type { FieldErrors } from '@leadwire/service-kit'
import { HEADER_BYTES } from '../../outbox/publish'
import type { References } from './load-references'
import { itemCount, type Stamp } from './number-leads'
import { renderNewLead } from './render-new-lead'

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
export const countErrors = (item: CreateLead, { maxQuotes, maxItems }: Limits): FieldErrors => {
  const { quotes } = item.lead!
  const messages = [
    ...tooMany('quotes', quotes.length, maxQuotes),
    ...tooMany('items in all', itemCount(item), maxItems),
  ]
  return messages.length > 0 ? { quotes: messages } : {}
}

/**
 * More than any event of a lead without quotes has: its texts are limited (`lead-arguments.ts`), and JSON writes a character in
 * six bytes at most.
 */
const MOST_WITHOUT_QUOTES = 200_000

/** The longest that PostgreSQL can say of a lead. */
const longestStamp = (item: CreateLead): Stamp => {
  const id = Number.MAX_SAFE_INTEGER
  return {
    ...{
      accountKey: '-'.repeat(50),
      number: id,
      id,
      customerId: id,
      createdAt: '0001-01-01T00:00:00.000000Z',
    },
    quoteIds: item.lead!.quotes.map(() => id),
    itemIds: new Array<number>(itemCount(item)).fill(id),
  }
}

/**
 * What is wrong with a lead whose event may be larger than an event may be: it would be stored and never published. A small body
 * can make a large event, because each item carries its image. The event is measured before the lead has a number, since numbers
 * are dense, and so with ids of 16 digits. Few leads can have so large an event: no others are measured.
 */
export const sizeErrors = (
  item: CreateLead,
  imageOf: References['imageOf'],
  { maxEventBytes }: Limits,
): FieldErrors => {
  const hasQuotes = item.lead!.quotes.length > 0
  if (!hasQuotes && maxEventBytes >= MOST_WITHOUT_QUOTES) return {}
  const { event } = renderNewLead(item, longestStamp(item), { imageOf, jsonFormat: 0 })
  const bytes = event.payload.length + HEADER_BYTES
  if (bytes <= maxEventBytes) return {}
  const limit = `The event of a lead may not have more than ${figure(maxEventBytes)} bytes`
  return { [hasQuotes ? 'quotes' : 'description']: [`${limit}; this one's may have ${figure(bytes)}.`] }
}
