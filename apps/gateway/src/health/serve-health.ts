import { type HealthCheck, type Lifecycle, readinessOf } from '@leadwire/service-kit'
import { type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { PUBLIC, problemResponse } from '../api/describe-operation'
import { REQUEST_ID } from '../api/headers'
import { named } from '../api/schemas'
import { oneOf } from '../validation/fields'

const Alive = named('Alive', { status: oneOf(['alive']) })
const Ready = named('Ready', { status: oneOf(['ready']) })
const NotReady = named('NotReady', {
  status: oneOf(['not ready']),
  missing: Type.Array(Type.String(), {
    description: 'What is unavailable.',
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
    ...{ operationId, summary, description, tags: ['Health'] },
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
    'Is the process alive?',
    'Answers as long as the process runs, whatever else is unavailable.',
    { 200: answer('It is.', Alive) },
  )
  app.get('/healthz', live, async () => ({ status: 'alive' }))
  const ready = describeCheck(
    'checkReadiness',
    'Can it serve?',
    'Asks each service behind the API. For load balancers.',
    { 200: answer('It can.', Ready), 503: answer('It can not, for now.', NotReady) },
  )
  app.get('/readyz', ready, async (_request, reply) => {
    const missing = await readinessOf(checks, lifecycle)
    if (missing.length === 0) return { status: 'ready' }
    return reply.code(503).send({ status: 'not ready', missing })
  })
}
