import type { Call } from './operation'

/**
 * Throws `not_found` if the lead in the path does not exist. Call this function before you report invalid
 * fields or read a file, so that the response for an unknown lead is 404, whatever else the request contains.
 */
export const findLead = async ({ leadKey, clients, limits }: Call<unknown>): Promise<void> => {
  await clients.retrieveLead(leadKey(), limits)
}
