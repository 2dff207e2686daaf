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

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

interface Route<Body extends TObject> extends Description {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  url: string
  scope: Scope
  body?: Body
}

/** What a handler is made with; `check` is the check of the operation's body. */
export type OperationDependencies<Fields> = Dependencies & { check: Check<Fields> }

interface Operation<Body extends TObject> extends Route<Body> {
  createHandler: (dependencies: OperationDependencies<Static<Body>>) => Handler
}

/** Makes the function that adds an operation to the API. It needs a token, and stands in the OpenAPI document. */
export const operation =
  <Body extends TObject>({ method, url, createHandler, ...description }: Operation<Body>) =>
  (app: FastifyInstance, dependencies: Dependencies): void => {
    // Nobody checks the body of an operation without one.
    const check = dependencies.validation.checker((description.body ?? Type.Object({})) as Body)
    app.route({
      method,
      url,
      onRequest: dependencies.authenticate(description.scope),
      schema: describe(description),
      handler: createHandler({ ...dependencies, check }),
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

interface ManagementOperation<Body extends TObject> extends Omit<Route<Body>, 'scope'> {
  /** Resolves with the `data` of the answer. */
  run: (call: ManagementCall<Static<Body>>) => Promise<unknown>
}

/** An operation with the scope `manage` that answers with `{"data": ...}`. */
export const managementOperation = <Body extends TObject>({ run, ...route }: ManagementOperation<Body>) =>
  operation<Body>({
    ...route,
    scope: 'manage',
    createHandler:
      ({ clients, now, check }) =>
      async (request, reply) => {
        const { accountId } = request.principal
        const call = { request, accountId, clients, limits: limitsOf(reply), now }
        const data = await run({ ...call, check: () => check(bodyOf(request)) })
        return sendJson(reply, JSON.stringify({ data }))
      },
  })
