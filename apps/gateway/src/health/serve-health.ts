import { type HealthCheck, type Lifecycle, readinessOf } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { PUBLIC } from '../docs/describe'

/** GET /healthz: the process lives. GET /readyz: it can serve, or 503 with what is missing. Neither needs a token. */
export const serveHealth = (
  app: FastifyInstance,
  options: { checks: HealthCheck[]; lifecycle: Lifecycle },
): void => {
  app.get(
    '/healthz',
    {
      schema: { ...PUBLIC, operationId: 'checkLiveness', tags: ['Health'], summary: 'Is the process alive?' },
    },
    async () => ({ status: 'alive' }),
  )
  app.get(
    '/readyz',
    {
      schema: {
        ...PUBLIC,
        operationId: 'checkReadiness',
        tags: ['Health'],
        summary: 'Can it serve? 503 with what is missing',
      },
    },
    async (_request, reply) => {
      const missing = await readinessOf(options.checks, options.lifecycle)
      if (missing.length > 0) reply.code(503)
      return missing.length > 0 ? { status: 'not ready', missing } : { status: 'ready' }
    },
  )
}
