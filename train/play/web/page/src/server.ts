// The connection to the server: one WebSocket for the game and its searches, and a few HTTP requests.

import { batch, signal } from "@preact/signals";
import { kept } from "./kept";
import { atLevel } from "./level";
import type { Doing, Frames, Game, Hello, Ownership, Review, Role, Score, Search, State, Tree } from "./types";

export const isConnected = signal(false);
export const hello = signal<Hello | null>(null);
export const game = signal<Game | null>(null);
export const searches = signal<Partial<Record<Role, Search>>>({});

export const tree = signal<Tree | null>(null);
export const review = signal<Review | null>(null);
export const ownership = signal<Ownership | null>(null);
export const wantsOwnership = kept("ownership", false);

const IDLE: Record<Role, Doing> = { game: "idle", analysis: "idle", a: "idle", b: "idle", review: "idle" };
export const doing = signal<Record<Role, Doing>>(IDLE);

const GAME_KEY = "rlgo-game";
const RECORD_KEY = "rlgo-record"; // the game's record: its variations and comments
const NODE_KEY = "rlgo-node";
const RETRY_MS = [250, 500, 1_000, 2_000, 4_000];

type Answer = { type: string; id?: number | null; message?: string };
interface RecordMessage {
  type: "record";
  sgf: string;
}
type Message = Hello | Game | State | Search | RecordMessage | Tree | Review | Ownership | (Score & { id: number }) | Answer;

interface Waiting {
  resolve: (answer: never) => void;
  reject: (error: Error) => void;
}

let socket: WebSocket | null = null;
let failures = 0;
let lastId = 0;
let record: string | null = sessionStorage.getItem(RECORD_KEY);
let place = JSON.parse(sessionStorage.getItem(NODE_KEY) ?? "{}") as { game?: number; node?: number };
let skipsGame = false; // the next game is the empty one of a new connection: the old one is on its way back
export let isRestoring = false;
let skipped: Game | null = null; // that game
const waiting = new Map<number, Waiting>();
const listeners: ((search: Search) => void)[] = [];
let onUnasked: (text: string) => void = () => undefined;

/** Calls back with every search message. */
export function onSearch(listener: (search: Search) => void): void {
  listeners.push(listener);
}

/** onProblem is called with errors that answer no request. */
export function connect(onProblem: (text: string) => void): void {
  onUnasked = onProblem;
  open();
}

function open(): void {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/api/session`);
  socket.onmessage = (event) => receive(JSON.parse(event.data as string) as Message);
  socket.onclose = ({ reason }) => {
    batch(() => {
      isConnected.value = false;
      doing.value = IDLE;
    });
    for (const { reject } of waiting.values()) reject(new Error("The connection was lost; the page tries to get it back."));
    waiting.clear();
    if (reason) onUnasked(reason);
    if (failures >= RETRY_MS.length) onUnasked("The server may have been restarted: open the address that rlgo web printed.");
    setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  };
}

function receive(message: Message): void {
  if (message.type === "hello") {
    batch(() => {
      hello.value = message as Hello;
      isConnected.value = true;
    });
    failures = 0;
    void restore().then(() => wantsOwnership.value && showOwnership(true));
  } else if (message.type === "game") {
    const isSkipped = skipsGame;
    skipsGame = false;
    if (isSkipped) {
      skipped = message as Game;
      return;
    }
    game.value = message as Game;
    sessionStorage.setItem(GAME_KEY, JSON.stringify(message));
  } else if (message.type === "record") {
    if (!isRestoring) keepRecord((message as RecordMessage).sgf);
  } else if (message.type === "tree") {
    if (!isRestoring) keepNode(message as Tree);
    tree.value = message as Tree;
  } else if (message.type === "review") {
    review.value = message as Review;
  } else if (message.type === "ownership" && !("id" in message)) {
    ownership.value = message as Ownership;
  } else if (message.type === "state") {
    const { role, doing: now } = message as State;
    doing.value = { ...doing.value, [role]: now };
  } else if (message.type === "search" && !("id" in message && message.id !== null)) {
    const search = message as Search;
    batch(() => {
      searches.value = { ...searches.value, [search.role]: search };
      for (const listener of listeners) listener(search);
    });
  } else {
    answer(message as Answer);
  }
}

function answer(message: Answer): void {
  const request = waiting.get(message.id ?? 0);
  if (!request) {
    if (message.type === "error") onUnasked(message.message ?? "The server reports an error.");
    return;
  }
  waiting.delete(message.id!);
  if (message.type === "error") request.reject(new Error(message.message));
  else request.resolve(message as never);
}

/** A record may be larger than the browser keeps; then a reload keeps the moves alone. */
function keepRecord(sgf: string): void {
  record = sgf;
  try {
    sessionStorage.setItem(RECORD_KEY, sgf);
  } catch {
    sessionStorage.removeItem(RECORD_KEY);
  }
}

/** The last node of the line: its moves alone do not tell where stones were set up. */
function keepNode({ game, line }: Tree): void {
  place = { game, node: line.at(-1)! };
  sessionStorage.setItem(NODE_KEY, JSON.stringify(place));
}

export function showOwnership(on: boolean): void {
  wantsOwnership.value = on;
  if (!on) ownership.value = null;
  request("ownership", { on }).catch(() => undefined); // the next connection asks again
}

/** After a lost connection or a reload, give the server the game back. Its clocks start anew. */
async function restore(): Promise<void> {
  const stored = sessionStorage.getItem(GAME_KEY);
  const last = game.value ?? (stored ? (JSON.parse(stored) as Game) : null);
  if (!last) {
    await request("seats", { white: atLevel(hello.value!.player) }).catch((error: Error) => onUnasked(error.message));
    return;
  }
  skipsGame = isRestoring = true;
  try {
    await giveBack(last);
  } catch (error) {
    if (socket?.readyState !== WebSocket.OPEN) return; // the next connection tries again
    onUnasked((error as Error).message);
    await giveBack({ ...last, seats: { black: "human", white: "human" } }).catch(beginAnew);
  } finally {
    isRestoring = false;
  }
}

/** Show the empty game of a server that does not take the last one. */
function beginAnew(): void {
  if (socket?.readyState !== WebSocket.OPEN) return;
  sessionStorage.removeItem(GAME_KEY);
  game.value = skipped;
}

async function giveBack(last: Game): Promise<void> {
  const { size, komi, setup, first, moves, seats, time, timed, at, resigned, is_own } = last;
  await request("new", { size, komi, setup, to_play: first, moves, ...seats, time, timed, sgf: record, ...place, is_own, paused: true });
  if (resigned) await request("resign");
  if (at < moves.length) await request("goto", { at });
  if (!last.paused) await request("resume");
}

/** Ask the server; the promise fails with its error message. */
export function request<T = Answer>(type: string, fields: object = {}): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (socket?.readyState !== WebSocket.OPEN) {
      reject(new Error("There is no connection to the server; the page tries to get it back."));
      return;
    }
    const id = ++lastId;
    waiting.set(id, { resolve, reject });
    socket.send(JSON.stringify({ type, id, ...fields }));
  });
}

export const framesOf = (role: Role): Promise<Frames> => request<Frames>("frames", { role });
export const frameOf = (role: Role, index: number): Promise<Search> => request<Search>("frame", { role, index });

export async function get<T>(path: string, query: Record<string, string | number | null | undefined> = {}): Promise<T> {
  const known = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const text = new URLSearchParams(known.map(([key, value]) => [key, String(value)])).toString();
  return read<T>(await fetch(text ? `${path}?${text}` : path));
}

export async function post<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return read<T>(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }));
}

async function read<T>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => ({ error: `The server answers ${response.status}.` }))) as T & { error?: string };
  if (!response.ok) throw new Error(body.error ?? `The server answers ${response.status}.`);
  return body;
}
