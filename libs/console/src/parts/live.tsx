import { signal } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { asProblem, type Problem, sentenceOf } from '../api'
import { clock } from './format'

const REFRESH_MS = 5000

/** How the data of the page stands; undefined where a page has none. */
const freshness = signal<{ updatedAt: number; problem?: Problem }>()

export const Freshness = () => {
  if (!freshness.value) return <p class="freshness" hidden />
  const { updatedAt, problem } = freshness.value
  return problem ? (
    <p class="freshness stale">{`Not updated since ${clock(updatedAt)}: ${sentenceOf(problem)}`}</p>
  ) : (
    <p class="freshness">Live</p>
  )
}

interface Live<Data> {
  data: Data | undefined
  /** Of the last load. Data that was shown before stays: old numbers with their age are better than none. */
  problem: Problem | undefined
  refresh: () => Promise<void>
}

/** Loads when `key` changes, and every 5 seconds while the tab is visible, or as often as is said. A page calls it once. */
export const useLive = <Data,>(
  key: string,
  load: (signal: AbortSignal) => Promise<Data>,
  everyMs = REFRESH_MS,
): Live<Data> => {
  const [{ data, problem }, setState] = useState<{ of?: string; data?: Data; problem?: Problem }>({})
  const latest = useRef({ key, load })
  latest.current = { key, load }
  const running = useRef<AbortController>()

  const refresh = useCallback(async () => {
    // An answer that was overtaken would show what was before.
    running.current?.abort()
    running.current = new AbortController()
    const { signal } = running.current
    const { key: of, load } = latest.current
    try {
      const loaded = await load(signal)
      if (signal.aborted) return
      setState({ of, data: loaded })
      freshness.value = { updatedAt: Date.now() }
    } catch (error) {
      if (signal.aborted) return
      const failed = asProblem(error)
      // What was loaded for another key would pass for what could not be loaded.
      setState((before) => ({ of, data: before.of === of ? before.data : undefined, problem: failed }))
      if (freshness.value) freshness.value = { updatedAt: freshness.value.updatedAt, problem: failed }
    }
  }, [])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    let isOver = false
    const again = async () => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') await refresh()
      if (!isOver) timer = setTimeout(again, everyMs)
    }
    void again()
    document.addEventListener('visibilitychange', again)
    return () => {
      isOver = true
      clearTimeout(timer)
      running.current?.abort()
      document.removeEventListener('visibilitychange', again)
      freshness.value = undefined
    }
  }, [key, refresh, everyMs])

  return { data, problem, refresh }
}

const POLL_MS = 400
const PATIENCE_MS = 20_000

/** Loads until what is awaited is there, for 20 seconds at most; the last that was loaded. */
export const waitFor = async <Data,>(
  load: () => Promise<Data>,
  isDone: (data: Data) => boolean,
): Promise<Data> => {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    const data = await load()
    if (isDone(data) || Date.now() > end) return data
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
