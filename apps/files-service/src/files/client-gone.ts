import type { FastifyReply } from 'fastify'

/** Aborts when the client disconnects, and when its response is complete. */
export const signalOf = ({ raw }: FastifyReply): AbortSignal => {
  const controller = new AbortController()
  if (raw.destroyed) controller.abort()
  else raw.once('close', () => controller.abort())
  return controller.signal
}
