import { enumeration } from '@leadwire/requests'
import { type HealthCheck, type Lifecycle, listFailedChecks } from '@leadwire/service-kit'
import { type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { PUBLIC, problemResponse } from '../api/describe-operation'
import { REQUEST_ID } from '../api/headers'
import { named } from '../api/schemas'

const Alive = named('Alive', { status: enumeration(['alive']) })
const Ready = named('Ready', { status: enumeration(['ready']) })
const NotReady = named('NotReady', {
  status: enumeration(['not ready']),
  missing: Type.Array(Type.String(), {
    description: 'Names of the unavailable services, or `draining` during shutdown.',
    examples: [['leads-service']],
  }),
})

const answer = (description: string, schema: TObject) => ({
  description,
  headers: REQUEST_ID,
  content: { 'application/json': { schema } },
})

const describeCheck = (operationId: string, summary: string, description: string, response: object) => {
  const schema: FastifySchema = {
    ...PUBLIC,
    operationId,
    summary,
    description,
    tags: ['Health'],
    response: { ...response, 400: problemResponse('bad-request') },
  }
  return { schema }
}

export const serveHealth = (
  app: FastifyInstance,
  { checks, lifecycle }: { checks: HealthCheck[]; lifecycle: Lifecycle },
): void => {
  const live = describeCheck(
    'checkLiveness',
    'Check liveness',
    'Responds while the process runs, even if other services are unavailable.',
    { 200: answer('The process is alive.', Alive) },
  )
  app.get('/healthz', live, async () => ({ status: 'alive' }))
  const ready = describeCheck(
    'checkReadiness',
    'Check readiness',
    'Checks each service behind the API. For load balancers.',
    {
      200: answer('The API is ready.', Ready),
      503: answer('The API is not ready. Try again later.', NotReady),
    },
  )
  app.get('/readyz', ready, async (_request, reply) => {
    const missing = await listFailedChecks(checks, lifecycle)
    if (missing.length === 0) return { status: 'ready' }
    return reply.code(503).send({ status: 'not ready', missing })
  })
}
