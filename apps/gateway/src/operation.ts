import type { CallLimits } from '@leadwire/service-kit'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from './auth/authenticate'
import type { Dependencies } from './dependencies'
import { type Description, describe } from './docs/describe'
import { bodyOf } from './http/body'
import { limitsOf } from './http/call-limits'
import { idempotencyOf } from './http/idempotency'
import { queryOf, refuseQuery } from './http/query'
import { sendJson } from './http/send-json'
import type { Body, Checked } from './validation/checker'

interface Route<Schema extends TObject> extends Description {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  url: string
  scope: Scope
  body?: Schema
  /** What `check` checks where that is not the body: the filters of a query, the fields beside a file. */
  checks?: Schema
  /** The most bytes of a body; 1 MiB unless it says so. */
  bodyLimit?: number
  /** Whether what it asks of a service is batched with what other requests ask. */
  isBatched?: boolean
}

/** A request whose token has the operation's scope, and what it is answered with. */
export interface Call<Fields>
  extends Omit<
    Dependencies,
    | 'authenticate'
    | 'takeTurns'
    | 'createCheck'
    | 'fileIdleMs'
    | 'importMaxBytes'
    | 'wakeImports'
    | 'draining'
  > {
  request: FastifyRequest
  reply: FastifyReply
  accountId: number
  limits: CallLimits
  /** Checks the request's query where the operation has one, else its body; or other fields of it. */
  check: (body?: Body) => Checked<Fields>
}

/** Resolves with the JSON of the answer; undefined where it has no body. */
export type Handler<Fields> = (call: Call<Fields>) => Promise<Uint8Array | string | undefined>

interface Operation<Schema extends TObject> extends Route<Schema> {
  handler: Handler<Static<Schema>>
}

const BODY_LIMIT = 1024 * 1024

// One for all operations with nothing to check: Ajv compiles a schema it knows no second time.
const NOTHING = Type.Object({})

/** Makes the function that adds an operation to the API. It needs a token, and stands in the OpenAPI document. */
export const operation =
  <Schema extends TObject>({
    method,
    url,
    checks,
    bodyLimit = BODY_LIMIT,
    isBatched = false,
    handler,
    ...description
  }: Operation<Schema>) =>
  (app: FastifyInstance, dependencies: Dependencies): void => {
    const { authenticate, takeTurns, createCheck, clients, uploads, addressOf, timeZone, now, logger } =
      dependencies
    // Files take as long as their clients do, and have a limit of their own (`uploads`).
    const isFile = description.multipart !== undefined || description.stream !== undefined
    const check = createCheck((checks ?? description.body ?? NOTHING) as Schema)
    const parameters = description.query && Object.keys(description.query['properties'])
    // The interface ignores what it does not know.
    const refusesQuery = !parameters && description.scope === 'manage'
    app.route({
      method,
      url,
      bodyLimit,
      onRequest: [authenticate(description.scope), ...(isFile ? [] : [takeTurns({ bodyLimit, isBatched })])],
      schema: describe(description),
      handler: async (request, reply) => {
        if (refusesQuery) refuseQuery(request)
        // Each property by its name: V8 makes a hash table of what is spread. With that, and with a getter in the limits, the
        // gateway needed 105 instead of 45 us for a read.
        const json = await handler({
          clients,
          uploads,
          addressOf,
          timeZone,
          now,
          logger,
          request,
          reply,
          accountId: request.principal.accountId,
          limits: limitsOf(reply),
          check: (body = parameters ? queryOf(request, parameters) : bodyOf(request)) => check(body),
        })
        return json === undefined ? reply.send() : sendJson(reply, json)
      },
    })
  }

interface ManagementOperation<Schema extends TObject> extends Omit<Route<Schema>, 'scope'> {
  /** Resolves with the `data` of the answer. */
  run: (call: Call<Static<Schema>>) => Promise<unknown>
}

// The service that makes the change saves the answer with it.
const underKey = <Fields>(call: Call<Fields>): Call<Fields> => {
  const { request, reply } = call
  return { ...call, limits: limitsOf(reply, idempotencyOf(request, bodyOf(request).fields)) }
}

/** An operation with the scope `manage` that answers with `{"data": ...}`. A POST is done once under each Idempotency-Key. */
export const managementOperation = <Schema extends TObject>({
  run,
  ...route
}: ManagementOperation<Schema>) => {
  const isPost = route.method === 'POST'
  return operation<Schema>({
    ...route,
    idempotent: isPost,
    scope: 'manage',
    handler: async (call) => JSON.stringify({ data: await run(isPost ? underKey(call) : call) }),
  })
}
