import { type Lead, leadDetailsJson, leadItemJson } from '@leadwire/contracts'

/** What a lead's row keeps of its public JSON. */
export interface LeadJson {
  /** Which format and which address of images the texts are made of (`leadJsonFormat`). */
  format: number
  /** The list item. */
  item: string
  /** Customer and quotes, without braces. */
  details: string
}

export const leadJsonOf = (lead: Lead, format: number): LeadJson => ({
  format,
  item: leadItemJson(lead),
  details: leadDetailsJson(lead, { productStyle: true }),
})

/** A whole lead, without anything around it. */
export const wholeLeadJson = ({ item, details }: Pick<LeadJson, 'item' | 'details'>): string =>
  `${item.slice(0, -1)},${details}}`

/** The response of every operation that answers with a lead (interface: Retrieve Lead). */
export const leadBody = (json: Pick<LeadJson, 'item' | 'details'>): Buffer =>
  Buffer.from(`{"data":${wholeLeadJson(json)}}`)
