import type { Endpoint } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'

export interface EndpointRow extends Omit<Endpoint, 'description'> {
  description: string | null
}

export const ENDPOINT_COLUMNS =
  'id, url, description, enabled, created_at AS "createdAt", updated_at AS "updatedAt"'

export const endpointOf = (row: EndpointRow): Endpoint => ({
  ...row,
  description: row.description ?? undefined,
})

/** The endpoint that a statement found. Throws not_found when it found none. */
export const theEndpoint = ([row]: EndpointRow[]): Endpoint => {
  if (!row) throw new ServiceError('not_found', 'There is no such webhook endpoint.')
  return endpointOf(row)
}
