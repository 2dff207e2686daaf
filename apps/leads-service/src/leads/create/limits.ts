import { attributeTerms, type CreateLead, MAX_ATTRIBUTES } from '@leadwire/contracts'
import type { FieldErrors } from '@leadwire/service-kit'
import { HEADER_BYTES } from '../../outbox/publish'
import { renderNewLead } from './build-lead'
import { itemCount, type Stamp } from './number-leads'
import type { References } from './references'

/** How large a lead may be: items are counted in all its quotes, and the bytes of its event with its headers. */
export type Limits = { maxQuotes: number; maxItems: number; maxEventBytes: number }

const figure = (count: number) => count.toLocaleString('en-GB')

const tooMany = (what: string, count: number, max: number) =>
  count > max ? [`A lead may not have more than ${figure(max)} ${what}; this one has ${figure(count)}.`] : []

/** What is wrong with a lead that has more quotes, items or attributes than a lead may have. */
export const countErrors = (item: CreateLead, { maxQuotes, maxItems }: Limits): FieldErrors => {
  const { quotes, attributes } = item.lead!
  const ofAttributes = tooMany('attributes', attributeTerms(attributes).length, MAX_ATTRIBUTES)
  const messages = [
    ...tooMany('quotes', quotes.length, maxQuotes),
    ...tooMany('items in all', itemCount(item), maxItems),
  ]
  return {
    ...(messages.length > 0 && { quotes: messages }),
    ...(ofAttributes.length > 0 && { attributes: ofAttributes }),
  }
}

/** More than any event of a lead without quotes and attributes has: its texts are limited, and JSON writes a character in six bytes at most. */
const MOST_WITHOUT_QUOTES = 200_000

/** The longest that PostgreSQL can say of a lead. */
const longestStamp = (item: CreateLead): Stamp => {
  const id = Number.MAX_SAFE_INTEGER
  const ids = (count: number) => new Array<number>(count).fill(id)
  return {
    ...{ accountKey: '-'.repeat(50), createdAt: '0001-01-01T00:00:00.000000Z' },
    ...{ number: id, id, customerId: id },
    ...{ quoteIds: ids(item.lead!.quotes.length), itemIds: ids(itemCount(item)) },
  }
}

/**
 * What is wrong with a lead whose event may be too large: it would be stored and never published. A small body can make a large
 * event, because each item carries its image. The event is measured with ids of 16 digits, before the lead has a number, since
 * numbers are dense. Only leads that may have so large an event are measured.
 */
export const sizeErrors = (
  item: CreateLead,
  references: Pick<References, 'imageOf' | 'userEmailOf'>,
  { maxEventBytes }: Limits,
): FieldErrors => {
  const { quotes, attributes } = item.lead!
  if (quotes.length === 0 && !attributes && maxEventBytes >= MOST_WITHOUT_QUOTES) return {}
  const { event } = renderNewLead(item, longestStamp(item), {
    ...references,
    jsonFormat: 0,
    hasEvent: true,
  })
  const bytes = event!.payload.length + HEADER_BYTES
  if (bytes <= maxEventBytes) return {}
  const limit = `The event of a lead may not have more than ${figure(maxEventBytes)} bytes`
  const field = quotes.length > 0 ? 'quotes' : attributes ? 'attributes' : 'description'
  return { [field]: [`${limit}; this one's may have ${figure(bytes)}.`] }
}
