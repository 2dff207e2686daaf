import { type IfMatch, type Lead, type LeadResult, leadDetailsJson, leadItemJson } from '@leadwire/contracts'
import { ServiceError, toRpcStatus } from '@leadwire/service-kit'

/**
 * The settings for the JSON of leads: the base URL of images, without a trailing slash, and the number of the
 * JSON format (`leadJsonFormat`), which depends on this URL.
 */
export interface JsonSettings {
  assetsUrl: string
  jsonFormat: number
}

/** Names a lead. The reference is not validated, so it may be any text. */
export type LeadKey = { accountId: number; reference: string }

/** The public JSON of a lead, as its row stores it. */
export interface LeadJson {
  /** The `jsonFormat` of the release that rendered the JSON. */
  format: number
  item: string
  /** Customer and quotes, without braces. */
  details: string
}

export const renderLeadJson = (lead: Lead, format: number): LeadJson => ({
  format,
  item: leadItemJson(lead),
  details: leadDetailsJson(lead, { productStyle: true }),
})

export const wholeLeadJson = ({ item, details }: Pick<LeadJson, 'item' | 'details'>): string =>
  `${item.slice(0, -1)},${details}}`

/** Renders the response of every operation that returns a lead (the lead API, section Retrieve Lead). */
export const leadBody = (json: LeadJson): Buffer => Buffer.from(`{"data":${wholeLeadJson(json)}}`)

/**
 * Returns the entity tag of a lead's public JSON (RFC 9110, 8.8.3). The tag is strong: leads.version rises
 * with every change of the lead, and `format` changes whenever a new release, or a new base URL of images
 * (ASSETS_URL), changes the JSON.
 */
export const leadEtag = (version: number, format: number): string => `"${version}-${format >>> 0}"`

const isOfVersion = (etag: string, version: number): boolean =>
  etag === '*' || /^"(\d+)-\d+"$/.exec(etag)?.[1] === String(version)

/**
 * Returns an error if no tag of If-Match names the lead's version. Compares only the version in a tag, not
 * the number of the JSON format that the tag also contains. If there is no lead, `version` is undefined, and
 * no tag matches.
 */
export const matchError = (
  ifMatch: IfMatch | undefined,
  version: number | undefined,
): ServiceError | undefined => {
  if (!ifMatch || (version !== undefined && ifMatch.etags.some((etag) => isOfVersion(etag, version))))
    return undefined
  const detail =
    'If-Match does not name the current version of the lead. Retrieve the lead and send its current ETag, which must not be weak.'
  return new ServiceError('precondition_failed', detail)
}

export type TaggedLead = { body: Buffer; etag: string }

export const leadNotFound = () => new ServiceError('not_found', 'There is no lead with this reference.')

export const toLeadResult = (
  outcome: (TaggedLead & { replayed?: boolean; created?: boolean }) | ServiceError,
): LeadResult => {
  if (outcome instanceof ServiceError) return { result: { $case: 'failure', value: toRpcStatus(outcome) } }
  const { body, etag, replayed, created } = outcome
  return { result: { $case: 'body', value: body }, etag, replayed, created }
}
