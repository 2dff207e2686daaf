import { Endpoint } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'

export const ENDPOINT_COLUMNS =
  'id, url, description, enabled, events, leads, header_names AS "headerNames", disabled_reason AS "disabledReason", created_at AS "createdAt", updated_at AS "updatedAt"'

/** The endpoint of a row with these columns. NULL is undefined in a message. */
export const endpointOf = (row: object): Endpoint => Endpoint.fromPartial(row)

/** What the audit log tells of an endpoint. */
export const auditedEndpoint = ({ url, description, enabled, events, leads, headerNames }: Endpoint) => ({
  url,
  description,
  enabled,
  events,
  leads,
  // An endpoint without any is told of as before they were there.
  ...(headerNames.length > 0 && { headers: headerNames }),
})

/** The endpoint that a statement found. Throws not_found when it found none. */
export const theEndpoint = ([row]: object[]): Endpoint => {
  if (!row) throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  return endpointOf(row)
}
