import type { CallLimits } from '@leadwire/service-kit'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from './auth/authenticate'
import type { Clients } from './clients'
import type { Dependencies } from './dependencies'
import { type Description, describe } from './docs/describe'
import { bodyOf } from './http/body'
import { limitsOf } from './http/call-limits'
import { sendJson } from './http/send-json'
import type { Check, Checked } from './validation/checker'

interface Route<Schema extends TObject> extends Description {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  url: string
  scope: Scope
  body?: Schema
  /** What `check` checks where that is not the body: the filters of a query, the fields beside a file. */
  checks?: Schema
}

/** What a handler works with. */
export type OperationDependencies<Fields> = Dependencies & { check: Check<Fields> }

/** Answers a request whose token has the operation's scope. */
export type Handler<Fields> = (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: OperationDependencies<Fields>,
) => Promise<unknown>

interface Operation<Schema extends TObject> extends Route<Schema> {
  handler: Handler<Static<Schema>>
}

// One for all operations with nothing to check: Ajv compiles a schema it knows no second time.
const NOTHING = Type.Object({})

/** Makes the function that adds an operation to the API. It needs a token, and stands in the OpenAPI document. */
export const operation =
  <Schema extends TObject>({ method, url, checks, handler, ...description }: Operation<Schema>) =>
  (app: FastifyInstance, dependencies: Dependencies): void => {
    const check = dependencies.createCheck((checks ?? description.body ?? NOTHING) as Schema)
    const operationDependencies = { ...dependencies, check }
    app.route({
      method,
      url,
      onRequest: dependencies.authenticate(description.scope),
      schema: describe(description),
      handler: (request, reply) => handler(request, reply, operationDependencies),
    })
  }

/** A request of a management operation. */
export interface ManagementCall<Fields> {
  request: FastifyRequest
  accountId: number
  clients: Clients
  limits: CallLimits
  now: () => number
  /** Checks the request's body. */
  check: () => Checked<Fields>
}

interface ManagementOperation<Schema extends TObject> extends Omit<Route<Schema>, 'scope'> {
  /** Resolves with the `data` of the answer. */
  run: (call: ManagementCall<Static<Schema>>) => Promise<unknown>
}

/** An operation with the scope `manage` that answers with `{"data": ...}`. */
export const managementOperation = <Schema extends TObject>({ run, ...route }: ManagementOperation<Schema>) =>
  operation<Schema>({
    ...route,
    scope: 'manage',
    handler: async (request, reply, { clients, now, check }) => {
      const { accountId } = request.principal
      const call = { request, accountId, clients, limits: limitsOf(reply), now }
      const data = await run({ ...call, check: () => check(bodyOf(request)) })
      return sendJson(reply, JSON.stringify({ data }))
    },
  })
