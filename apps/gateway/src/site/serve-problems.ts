import type { FastifyInstance } from 'fastify'
import { PROBLEMS, PROBLEMS_PATH } from '../http/problem'

const withCode = (text: string) => text.replace(/`([^`]*)`/g, '<code>$1</code>')

const page = () => `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Problems</title>
<h1>Problems</h1>
<p>Errors are <code>application/problem+json</code> (RFC 9457). Their <code>type</code> is one of these.</p>
<dl>
${Object.entries(PROBLEMS)
  .map(
    ([kind, { status, title, meaning, mend }]) =>
      `<dt id="${kind}"><strong>${kind}</strong>: ${status} ${title}</dt><dd>${withCode(meaning)} ${withCode(mend)}</dd>`,
  )
  .join('\n')}
</dl>
</html>
`

/** GET /problems: what each problem's `type` points to. */
export const serveProblems = (app: FastifyInstance): void => {
  const body = page()
  app.get(PROBLEMS_PATH, { schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('cache-control', 'public, max-age=3600').send(body),
  )
}
