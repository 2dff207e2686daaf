import type { ErasureJob, PlaceDeps } from './erasure-job'

const AT_ONCE = 20

/** Deletes the messages of a lead's events from the stream. */
export const eraseMessages = async (
  { messages }: ErasureJob,
  { deleteMessage }: PlaceDeps,
): Promise<number[]> => {
  const all = [...messages].map(([eventId, sequence]) => ({ eventId, sequence }))
  for (let at = 0; at < all.length; at += AT_ONCE)
    await Promise.all(all.slice(at, at + AT_ONCE).map(deleteMessage))
  return [all.length]
}
