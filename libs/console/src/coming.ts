/**
 * The types of operations that the generated client does not have yet. Delete this file when
 * libs/client/src/generated/schema.ts has them.
 */
import type { Scope } from '@leadwire/contracts/scopes'

export type Role = 'admin' | 'sales' | 'support' | 'viewer'

/** The user or the token that sent the request. */
export interface Me {
  type: 'user' | 'token'
  id: number
  name: string
  /** null for a token, like `role` and `session_id`. */
  email: string | null
  role: Role | null
  session_id: number | null
  account: { id: number; name: string }
  scopes: Scope[]
  endpoint_id: number | null
  test: boolean
  expires_at: string | null
}

export interface Session {
  id: number
  created_at: string
  last_used_at: string
  expires_at: string
  current: boolean
}

export interface Actor {
  type: 'user' | 'token'
  id: number
  name: string
}

export interface WithActor {
  actor?: Actor | null
}

export interface WithRole {
  role?: Role | null
}

interface NoParameters {
  query?: never
  header?: never
  path?: never
  cookie?: never
}

interface WithId extends Omit<NoParameters, 'path'> {
  path: { id: number }
}

interface Success<Data> {
  headers: { [name: string]: unknown }
  content: { 'application/json': { data: Data } }
}

interface Operation<Parameters, Status extends number, Data> {
  parameters: Parameters
  requestBody?: never
  responses: { [status in Status]: Success<Data> }
}

declare module '../../client/src/generated/schema' {
  interface paths {
    '/sign-in-links': {
      parameters: NoParameters
      post: {
        parameters: NoParameters
        requestBody: { content: { 'application/json': { email: string } } }
        responses: { 202: Success<{ expires_in_minutes: number }> }
      }
    }
    '/sessions': { parameters: NoParameters; post: Operation<NoParameters, 201, Me> }
    '/me': { parameters: NoParameters; get: Operation<NoParameters, 200, Me> }
    '/me/sessions': { parameters: NoParameters; get: Operation<NoParameters, 200, Session[]> }
    '/me/sessions/{id}': { parameters: WithId; delete: Operation<WithId, 200, Session> }
    '/manage/users/{id}/invitation': { parameters: WithId; post: Operation<WithId, 202, WithRole> }
    '/manage/users/{id}/sessions': { parameters: WithId; delete: Operation<WithId, 200, unknown> }
  }
}
