import { type HealthCheck, type Lifecycle, readinessOf } from '@leadwire/service-kit'
import { type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { PUBLIC, problemResponse } from '../api/describe-operation'
import { REQUEST_ID } from '../api/headers'
import { named } from '../api/schemas'
import { oneOf } from '../validation/fields'

const answer = (description: string, schema: TObject) => ({
  description,
  headers: REQUEST_ID,
  content: { 'application/json': { schema } },
})

interface Check {
  operationId: string
  summary: string
  description: string
  response: object
}

const describeCheck = ({ response, ...check }: Check): { schema: FastifySchema } => ({
  schema: {
    ...PUBLIC,
    ...check,
    tags: ['Health'],
    response: { ...response, 400: problemResponse('bad-request') },
  },
})

const status = (word: string) => oneOf([word])

const Alive = named('Alive')({ status: status('alive') })
const Ready = named('Ready')({ status: status('ready') })
const NotReady = named('NotReady')({
  status: status('not ready'),
  missing: Type.Array(Type.String(), {
    description: 'What is unavailable.',
    examples: [['leads-service']],
  }),
})

export const serveHealth = (
  app: FastifyInstance,
  options: { checks: HealthCheck[]; lifecycle: Lifecycle },
): void => {
  const live = describeCheck({
    operationId: 'checkLiveness',
    summary: 'Is the process alive?',
    description: 'Answers as long as the process runs, whatever else is unavailable.',
    response: { 200: answer('It is.', Alive) },
  })
  app.get('/healthz', live, async () => ({ status: 'alive' }))
  const ready = describeCheck({
    operationId: 'checkReadiness',
    summary: 'Can it serve?',
    description: 'Asks each service behind the API. For load balancers.',
    response: { 200: answer('It can.', Ready), 503: answer('It can not, for now.', NotReady) },
  })
  app.get('/readyz', ready, async (_request, reply) => {
    const missing = await readinessOf(options.checks, options.lifecycle)
    if (missing.length === 0) return { status: 'ready' }
    return reply.code(503).send({ status: 'not ready', missing })
  })
}
