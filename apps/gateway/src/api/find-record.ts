import { ServiceError } from '@leadwire/service-kit'

/**
 * Throws `not_found` if a list of a lead has no record with this id. Called only for a request with invalid
 * fields, so that the response for an unknown record is 404. `list` lists the records with ids below
 * `before`, newest first, and throws `not_found` for an unknown lead.
 */
export const findRecord = async (
  id: number,
  list: (before: number) => Promise<{ items: Uint8Array }>,
): Promise<void> => {
  const { items } = await list(Math.min(id + 1, Number.MAX_SAFE_INTEGER))
  const [newest] = JSON.parse(Buffer.from(items).toString()) as { id: number }[]
  if (newest?.id !== id) throw new ServiceError('not_found', 'There is nothing with this id.')
}
