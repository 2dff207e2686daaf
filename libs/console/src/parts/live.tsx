import { signal } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { asProblem, type Problem, renderProblem } from '../api'
import { me } from '../session'
import { formatClock } from './format'

const REFRESH_MS = 5000

/**
 * When the page's data were last loaded, and the problem if the latest load failed. Undefined if the page has
 * no data.
 */
const freshness = signal<{ updatedAt: number; problem?: Problem }>()

export const Freshness = () => {
  if (!freshness.value) return <p class="freshness" hidden />
  const { updatedAt, problem } = freshness.value
  return problem ? (
    <p class="freshness stale">{`Not updated since ${formatClock(updatedAt)}: ${renderProblem(problem)}`}</p>
  ) : (
    <p class="freshness">Live</p>
  )
}

interface Live<Data> {
  data: Data | undefined
  /**
   * Set if the last load failed. `data` then keeps its value, because old data with its age is better than no
   * data.
   */
  problem: Problem | undefined
  refresh: () => Promise<void>
}

interface Polling<Data> {
  everyMs?: number
  /** Whether the data can no longer change and need not be loaded again. */
  isFinal?: (data: Data) => boolean
}

const neverFinal = () => false

/**
 * Loads data when `key` changes, and every `everyMs` (default 5 s) while the tab is visible. Call it only
 * once in a page, because a page has only one `freshness`.
 */
export const useLive = <Data,>(
  key: string,
  load: (signal: AbortSignal) => Promise<Data>,
  { everyMs = REFRESH_MS, isFinal = neverFinal }: Polling<Data> = {},
): Live<Data> => {
  const [{ data, problem }, setState] = useState<{ of?: string; data?: Data; problem?: Problem }>({})
  const latest = useRef({ key, load, isFinal })
  latest.current = { key, load, isFinal }
  const finalKey = useRef<string>()
  const running = useRef<AbortController>()

  const refresh = useCallback(async () => {
    // Aborts an earlier load, because its response would be older.
    running.current?.abort()
    running.current = new AbortController()
    const { signal } = running.current
    const { key: of, load, isFinal } = latest.current
    try {
      const loaded = await load(signal)
      if (signal.aborted) return
      finalKey.current = isFinal(loaded) ? of : undefined
      setState({ of, data: loaded })
      freshness.value = { updatedAt: Date.now() }
    } catch (error) {
      if (signal.aborted) return
      const failed = asProblem(error)
      // Drops the data of an earlier key, which the page would otherwise show for the current key.
      setState((before) => ({ of, data: before.of === of ? before.data : undefined, problem: failed }))
      if (freshness.value) freshness.value = { updatedAt: freshness.value.updatedAt, problem: failed }
    }
  }, [])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    let isUnmounted = false
    const poll = async () => {
      clearTimeout(timer)
      if (finalKey.current === key) return
      if (document.visibilityState === 'visible') await refresh()
      if (!isUnmounted) timer = setTimeout(poll, everyMs)
    }
    finalKey.current = undefined
    // Loads now, and again when the user has signed in again.
    const unsubscribe = me.subscribe((user) => {
      if (user) void poll()
    })
    document.addEventListener('visibilitychange', poll)
    return () => {
      isUnmounted = true
      unsubscribe()
      clearTimeout(timer)
      running.current?.abort()
      document.removeEventListener('visibilitychange', poll)
      freshness.value = undefined
    }
  }, [key, refresh, everyMs])

  return { data, problem, refresh }
}

const POLL_MS = 400
const WAIT_LIMIT_MS = 20_000

/** Loads data repeatedly until `isDone` is true, for at most 20 seconds. Returns the last loaded data. */
export const waitFor = async <Data,>(
  load: () => Promise<Data>,
  isDone: (data: Data) => boolean,
): Promise<Data> => {
  const end = Date.now() + WAIT_LIMIT_MS
  for (;;) {
    const data = await load()
    if (isDone(data) || Date.now() > end) return data
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
