import type { Schemas } from '../api'
import { renderCurl } from '../curl'
import { CopyButton } from './copy-button'

// Indents the body to make it readable, because webhooks are JSON without spaces.
const indentJson = (body: string) => JSON.stringify(JSON.parse(body), null, 2)

/** The request that each attempt sends. `url` is the endpoint's URL, or undefined for a deleted endpoint. */
export const SentRequest = ({ request, url }: { request: Schemas['WebhookRequest']; url?: string }) => (
  <section class="card padded">
    <div class="actions">
      {url && <CopyButton label="Copy as curl" text={renderCurl(request, url)} />}
      <CopyButton label="Copy body" text={request.body} />
    </div>
    {url && (
      <p class="faint">
        The command signs with the secret in <code>$WEBHOOK_SECRET</code>. Set this variable first: the API
        does not show secrets.
      </p>
    )}
    <details>
      <summary>Headers</summary>
      <dl class="facts mono">
        {Object.entries(request.headers).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value ?? <span class="none">computed for each attempt, or secret</span>}</dd>
          </div>
        ))}
      </dl>
    </details>
    <details open>
      <summary>Body</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{indentJson(request.body)}</pre>
    </details>
  </section>
)
