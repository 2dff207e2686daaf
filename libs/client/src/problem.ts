import type { components } from './generated/schema'

/** An error response of the API (RFC 9457). If there is no response, the kind is `unreachable`. */
export class LeadwireProblem extends Error {
  override readonly name = 'LeadwireProblem'
  /** The last part of the problem's type, such as `invalid` or `not-found`. /problems lists all kinds. */
  readonly kind: string
  /** The HTTP status, or 0 if there is no response. */
  readonly status: number
  readonly title: string
  /** Quote this id if you ask the operator about the request. */
  readonly requestId: string | undefined
  /** The errors of each invalid field by its dotted path. Set with status 422. */
  readonly errors: Record<string, string[]>
  /** The cursor to continue with. Set with status 410 of `GET /manage/events`. */
  readonly oldestCursor: string | undefined

  constructor(status: number, body: Partial<components['schemas']['Problem']>, options?: ErrorOptions) {
    super(body.detail ?? `The response has the status ${status}.`, options)
    this.kind = String(body.type).split('#')[1] ?? 'unknown'
    this.status = status
    this.title = body.title ?? `Status ${status}`
    this.requestId = body.request_id
    this.errors = body.errors ?? {}
    this.oldestCursor = body.oldest_cursor
  }
}

/** Reads an error response. The body of the response need not be a problem document. */
export const readProblem = async (response: Response): Promise<LeadwireProblem> => {
  const body: unknown = await response.json().catch(() => undefined)
  return new LeadwireProblem(response.status, typeof body === 'object' && body !== null ? body : {})
}
