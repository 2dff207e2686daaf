import type { Schemas } from '../api'
import { curlOf } from '../curl'
import { CopyButton } from './copy-button'

// The body of a webhook is JSON; it is sent without spaces.
const pretty = (body: string) => JSON.stringify(JSON.parse(body), null, 2)

/** What each attempt sends. `url` is where the endpoint is now; undefined when it was deleted. */
export const SentRequest = ({ request, url }: { request: Schemas['WebhookRequest']; url?: string }) => (
  <section class="card padded">
    <div class="actions">
      {url && <CopyButton label="Copy as curl" text={curlOf(request, url)} />}
      <CopyButton label="Copy body" text={request.body} />
    </div>
    {url && (
      <p class="faint">
        The command signs with the secret in <code>$WEBHOOK_SECRET</code>, which the API does not show.
      </p>
    )}
    <details>
      <summary>Headers</summary>
      <dl class="facts mono">
        {Object.entries(request.headers).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value ?? <span class="none">made for each attempt, or secret</span>}</dd>
          </div>
        ))}
      </dl>
    </details>
    <details open>
      <summary>Body</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{pretty(request.body)}</pre>
    </details>
  </section>
)
