import { type IfMatch, type Lead, type LeadResult, leadDetailsJson, leadItemJson } from '@leadwire/contracts'
import { ServiceError, statusOf } from '@leadwire/service-kit'

/** How the JSON of leads is made: the address of images, without a slash at its end, and the number of both (`leadJsonFormat`). */
export interface JsonSettings {
  assetsUrl: string
  jsonFormat: number
}

/** Names a lead. The reference may be any text. */
export type LeadKey = { accountId: number; reference: string }

/** What a lead's row keeps of its public JSON. */
export interface LeadJson {
  /** `jsonFormat` of the settings that it was made with. */
  format: number
  item: string
  /** Customer and quotes, without braces. */
  details: string
}

export const leadJsonOf = (lead: Lead, format: number): LeadJson => ({
  format,
  item: leadItemJson(lead),
  details: leadDetailsJson(lead, { productStyle: true }),
})

export const wholeLeadJson = ({ item, details }: Pick<LeadJson, 'item' | 'details'>): string =>
  `${item.slice(0, -1)},${details}}`

/** The response of every operation that answers with a lead (interface: Retrieve Lead). */
export const leadBody = (json: LeadJson): Buffer => Buffer.from(`{"data":${wholeLeadJson(json)}}`)

/**
 * The entity tag of a lead's public JSON (RFC 9110, 8.8.3). It is strong: whatever changes what Retrieve shows raises leads.version,
 * and another release or address of images has another `format`.
 */
export const leadEtag = (version: number, format: number): string => `"${version}-${format >>> 0}"`

const isOfVersion = (etag: string, version: number): boolean =>
  etag === '*' || /^"(\d+)-\d+"$/.exec(etag)?.[1] === String(version)

/** The error of a lead that is not what If-Match names, whatever the format of the tags. Without a version there is no lead. */
export const matchError = (
  ifMatch: IfMatch | undefined,
  version: number | undefined,
): ServiceError | undefined => {
  if (!ifMatch || (version !== undefined && ifMatch.etags.some((etag) => isOfVersion(etag, version))))
    return undefined
  const detail = 'The lead is not what If-Match names: it was changed, or the tag is a weak one.'
  return new ServiceError('precondition_failed', detail)
}

export type TaggedLead = { body: Buffer; etag: string }

export const leadNotFound = () => new ServiceError('not_found', 'There is no lead with this reference.')

export const leadResultOf = (
  outcome: (TaggedLead & { replayed?: boolean; created?: boolean }) | ServiceError,
): LeadResult => {
  if (outcome instanceof ServiceError) return { result: { $case: 'failure', value: statusOf(outcome) } }
  const { body, etag, replayed, created } = outcome
  return { result: { $case: 'body', value: body }, etag, replayed, created }
}
