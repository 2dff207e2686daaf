import { signal } from '@preact/signals'
import { fromNow, moment } from './format'

const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1000)

/** "5 minutes ago", kept true; the exact time shows on hover. */
export const Ago = ({ at }: { at: string }) => (
  <time dateTime={at} title={`${moment(at)} (${at})`}>
    {fromNow(Math.min(Date.parse(at), now.value), now.value)}
  </time>
)

/** "in 5 minutes"; what should have begun is "now". */
export const Ahead = ({ at }: { at: string }) => (
  <time dateTime={at} title={`${moment(at)} (${at})`}>
    {fromNow(Math.max(Date.parse(at), now.value), now.value)}
  </time>
)

export const Exactly = ({ at }: { at: string }) => (
  <time dateTime={at} title={at}>
    {moment(at)}
  </time>
)
