import type { Customer, Image, Lead, Quote, QuoteItem } from '@leadwire/contracts'

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

const isTimestamp = (text: string): boolean => {
  const at = Date.parse(text)
  // JavaScript takes the 30th of February for the 2nd of March.
  return TIMESTAMP.test(text) && at > 0 && new Date(at).toISOString().startsWith(text.slice(0, 19))
}

const isOptions = (text: string): boolean => {
  try {
    const options: unknown = JSON.parse(text)
    if (typeof options !== 'object' || options === null || Array.isArray(options)) return false
    return Object.values(options).every((value) => typeof value === 'string' || typeof value === 'number')
  } catch {
    return false
  }
}

const idFault = ({ id }: { id: number }) => (id < 1 ? 'id' : undefined)
const timesFault = (record: Pick<Lead, 'createdAt' | 'updatedAt'>) =>
  isTimestamp(record.createdAt) ? (isTimestamp(record.updatedAt) ? undefined : 'updated_at') : 'created_at'

const within = (place: string, fault: string | undefined) => fault && `${place}.${fault}`
const firstOf = <Part>(place: string, parts: Part[], faultOf: (part: Part) => string | undefined) => {
  for (const [index, part] of parts.entries()) {
    const fault = faultOf(part)
    if (fault) return `${place}.${index}.${fault}`
  }
  return undefined
}

const imageFault = (image: Image) => idFault(image) ?? timesFault(image)

const numberFault = ({ margin, minimum, maximum }: QuoteItem) =>
  // JSON has no word for NaN or an infinity.
  Object.entries({ margin, minimum, maximum }).find(
    ([, value]) => value !== undefined && !Number.isFinite(value),
  )?.[0]

const itemFault = (item: QuoteItem): string | undefined =>
  idFault(item) ??
  timesFault(item) ??
  numberFault(item) ??
  (isOptions(item.options) ? undefined : 'options') ??
  within('image', item.image && imageFault(item.image))

const quoteFault = (quote: Quote): string | undefined =>
  idFault(quote) ?? timesFault(quote) ?? firstOf('items', quote.items, itemFault)

const customerFault = (customer: Customer | undefined): string | undefined => {
  if (!customer) return 'missing'
  return idFault(customer) ?? (isTimestamp(customer.createdAt) ? undefined : 'created_at')
}

/**
 * Where a lead has a value that its public JSON can't show (interface: Lead); undefined when it has none. Everything else
 * of a decoded message is text, which JSON can show whatever it says.
 */
export const leadFault = (lead: Lead): string | undefined =>
  idFault(lead) ??
  timesFault(lead) ??
  within('customer', customerFault(lead.customer)) ??
  firstOf('quotes', lead.quotes, quoteFault)
