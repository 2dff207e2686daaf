import { type HealthCheck, type Lifecycle, readinessOf } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import { PUBLIC } from '../docs/describe'

const describeCheck = (operationId: string, summary: string) => ({
  schema: { ...PUBLIC, operationId, tags: ['Health'], summary },
})

/** GET /healthz: the process lives. GET /readyz: it can serve, or 503 with what is missing. Neither needs a token. */
export const serveHealth = (
  app: FastifyInstance,
  options: { checks: HealthCheck[]; lifecycle: Lifecycle },
): void => {
  const live = describeCheck('checkLiveness', 'Is the process alive?')
  app.get('/healthz', live, async () => ({ status: 'alive' }))
  const ready = describeCheck('checkReadiness', 'Can it serve? 503 with what is missing')
  app.get('/readyz', ready, async (_request, reply) => {
    const missing = await readinessOf(options.checks, options.lifecycle)
    if (missing.length === 0) return { status: 'ready' }
    return reply.code(503).send({ status: 'not ready', missing })
  })
}
