import { signal } from '@preact/signals'
import { formatDistance, formatInstant } from './format'

const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1000)

/** A past time such as "5 minutes ago", kept up to date. The exact time appears on hover. */
export const Ago = ({ at }: { at: string }) => (
  <time dateTime={at} title={`${formatInstant(at)} (${at})`}>
    {formatDistance(Math.min(Date.parse(at), now.value), now.value)}
  </time>
)

/** A future time such as "in 5 minutes". A time that has passed is "now". */
export const Ahead = ({ at }: { at: string }) => (
  <time dateTime={at} title={`${formatInstant(at)} (${at})`}>
    {formatDistance(Math.max(Date.parse(at), now.value), now.value)}
  </time>
)

/** The exact time in the user's time zone. */
export const Exactly = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {formatInstant(at)}
  </time>
)
