"""Makes files of many types and keeps what Magika's Python package says about them:

    pip install magika==1.0.3 && python3 examples/filetype/testdata/files.py

files.tar.gz has the files, and answers.json the results in their order. The files are short
programs and documents, what Python's library can write, and cases at the edges of what is
read: few bytes, white space, the sizes of the blocks, broken text.
"""

import bz2, gzip, io, json, lzma, os, pathlib, pickle, plistlib, random
import sqlite3, struct, tarfile, tempfile, wave, zipfile, zlib

import magika
import numpy as np

HERE = pathlib.Path(__file__).parent
rng = random.Random(1)
WORDS = "the of a river stone light under walks letter seven between small engine green answer paper winter night".split()

SOURCES = {
    "a.py": "import sys\n\ndef total(xs):\n    return sum(x for x in xs if x)\n\nif __name__ == '__main__':\n    print(total(map(int, sys.argv[1:])))\n",
    "a.go": "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfor i := range 3 {\n\t\tfmt.Println(i)\n\t}\n}\n",
    "a.c": "#include <stdio.h>\n\nint main(int argc, char **argv) {\n\tfor (int i = 0; i < argc; i++)\n\t\tputs(argv[i]);\n\treturn 0;\n}\n",
    "a.cpp": "#include <iostream>\n#include <vector>\n\ntemplate <class T> T sum(const std::vector<T> &v) {\n  T s{};\n  for (auto x : v) s += x;\n  return s;\n}\nint main() { std::cout << sum<int>({1, 2, 3}) << std::endl; }\n",
    "a.rs": "use std::collections::HashMap;\n\nfn main() {\n    let mut m: HashMap<String, u32> = HashMap::new();\n    *m.entry(\"a\".into()).or_insert(0) += 1;\n    println!(\"{:?}\", m);\n}\n",
    "a.java": "import java.util.List;\n\npublic class Main {\n    public static void main(String[] args) {\n        System.out.println(List.of(args).size());\n    }\n}\n",
    "a.js": "const fs = require('fs');\n\nfunction read(name) {\n  return JSON.parse(fs.readFileSync(name, 'utf8'));\n}\n\nmodule.exports = { read };\n",
    "a.ts": "interface Point { x: number; y: number }\n\nexport const norm = (p: Point): number => Math.hypot(p.x, p.y);\n\nexport default class Shape<T extends Point> {\n  constructor(private readonly points: T[]) {}\n}\n",
    "a.html": "<!DOCTYPE html>\n<html lang=\"en\"><head><title>A page</title><meta charset=\"utf-8\"></head>\n<body><h1>Words</h1><p>Some of them.</p></body></html>\n",
    "a.css": "body { margin: 0; font: 16px/1.5 sans-serif }\n.menu > li:hover { color: #336699; border-bottom: 1px solid }\n@media (max-width: 600px) { .menu { display: none } }\n",
    "a.scss": "$main: #336699;\n\n.menu {\n  color: $main;\n  &:hover { color: darken($main, 10%); }\n  @include wide { display: none; }\n}\n",
    "a.sql": "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\nINSERT INTO people (name) VALUES ('Ada'), ('Grace');\nSELECT p.name, COUNT(*) FROM people p GROUP BY p.name HAVING COUNT(*) > 0;\n",
    "a.sh": "#!/bin/sh\nset -e\nfor f in *.txt; do\n\twc -l \"$f\" | awk '{print $1}'\ndone\n[ -n \"$1\" ] && echo \"$1\" || exit 1\n",
    "a.bat": "@echo off\r\nsetlocal\r\nfor %%f in (*.txt) do (\r\n  echo %%f\r\n  copy %%f out\\\r\n)\r\nif errorlevel 1 goto end\r\n:end\r\n",
    "a.ps1": "param([string]$Path)\nGet-ChildItem -Path $Path -Recurse | Where-Object { $_.Length -gt 1MB } | ForEach-Object {\n    Write-Host $_.FullName\n}\n",
    "a.rb": "require 'json'\n\nclass Reader\n  attr_reader :name\n  def initialize(name) = @name = name\n  def each(&block)\n    File.foreach(@name).map(&:chomp).each(&block)\n  end\nend\n",
    "a.php": "<?php\nnamespace App;\n\nclass Reader {\n    public function __construct(private string $name) {}\n    public function lines(): array { return file($this->name); }\n}\necho count((new Reader($argv[1]))->lines());\n",
    "a.pl": "#!/usr/bin/perl\nuse strict;\nuse warnings;\nmy %seen;\nwhile (<>) { chomp; next if $seen{$_}++; print \"$_\\n\"; }\n",
    "a.lua": "local M = {}\nfunction M.sum(t)\n  local s = 0\n  for _, v in ipairs(t) do s = s + v end\n  return s\nend\nreturn M\n",
    "a.hs": "module Main where\nimport qualified Data.Map as M\n\ncount :: [String] -> M.Map String Int\ncount = foldr (\\k -> M.insertWith (+) k 1) M.empty\n\nmain :: IO ()\nmain = getContents >>= print . count . words\n",
    "a.kt": "data class Person(val name: String, var age: Int)\n\nfun main() {\n    val all = listOf(Person(\"Ada\", 36))\n    all.filter { it.age > 30 }.forEach { println(it.name) }\n}\n",
    "a.swift": "import Foundation\n\nstruct Person: Codable {\n    let name: String\n    var age: Int?\n}\nguard let data = try? Data(contentsOf: URL(fileURLWithPath: \"a\")) else { exit(1) }\nprint(data.count)\n",
    "a.scala": "object Main extends App {\n  case class Person(name: String, age: Int)\n  val all = List(Person(\"Ada\", 36))\n  all.collect { case Person(n, a) if a > 30 => n }.foreach(println)\n}\n",
    "a.r": "data <- read.csv('a.csv', header = TRUE)\nmodel <- lm(y ~ x, data = data)\nsummary(model)\nplot(data$x, data$y)\nabline(model)\n",
    "a.jl": "using LinearAlgebra\n\nfunction power(A::Matrix{Float64}, n::Int)\n    x = randn(size(A, 1))\n    for _ in 1:n\n        x = normalize(A * x)\n    end\n    return dot(x, A * x)\nend\n",
    "a.m": "function y = power(A, n)\n% the largest eigenvalue\nx = randn(size(A, 1), 1);\nfor k = 1:n\n    x = A * x; x = x / norm(x);\nend\ny = x' * A * x;\nend\n",
    "a.erl": "-module(a).\n-export([count/1]).\n\ncount([]) -> 0;\ncount([_ | T]) -> 1 + count(T).\n",
    "a.ex": "defmodule Count do\n  @moduledoc false\n  def of(list), do: list |> Enum.map(&(&1 * 2)) |> Enum.sum()\nend\n",
    "a.clj": "(ns a.core\n  (:require [clojure.string :as str]))\n\n(defn words [s]\n  (->> (str/split s #\" \") (map str/lower-case) frequencies))\n",
    "a.lisp": "(defun fact (n)\n  \"The factorial of N.\"\n  (if (< n 2) 1 (* n (fact (1- n)))))\n\n(format t \"~a~%\" (fact 5))\n",
    "a.ml": "let rec sum = function\n  | [] -> 0\n  | x :: rest -> x + sum rest\n\nlet () = Printf.printf \"%d\\n\" (sum [1; 2; 3])\n",
    "a.f90": "program main\n  implicit none\n  integer :: i\n  real(8) :: s = 0.0d0\n  do i = 1, 10\n    s = s + sqrt(dble(i))\n  end do\n  print *, s\nend program main\n",
    "a.asm": "section .text\nglobal _start\n_start:\n\tmov rax, 1\n\tmov rdi, 1\n\tlea rsi, [rel msg]\n\tmov rdx, 6\n\tsyscall\n\tmov rax, 60\n\txor rdi, rdi\n\tsyscall\nsection .data\nmsg: db \"hello\", 10\n",
    "a.v": "module counter(input clk, input rst, output reg [7:0] q);\n  always @(posedge clk or posedge rst)\n    if (rst) q <= 8'b0;\n    else q <= q + 1;\nendmodule\n",
    "a.vhd": "library ieee;\nuse ieee.std_logic_1164.all;\n\nentity gate is\n  port (a, b : in std_logic; q : out std_logic);\nend gate;\n\narchitecture rtl of gate is\nbegin\n  q <= a and b;\nend rtl;\n",
    "a.json": json.dumps({"name": "a", "values": [1, 2.5, None, True], "inner": {"k": "v"}}, indent=2) + "\n",
    "a.jsonl": "".join(json.dumps({"id": i, "word": w}) + "\n" for i, w in enumerate(WORDS)),
    "a.yaml": "name: build\non:\n  push:\n    branches: [main]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: go test ./...\n",
    "a.toml": "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n",
    "a.ini": "; settings\n[main]\nname=a\nport = 8080\n\n[log]\nlevel=debug\nfile=/var/log/a.log\n",
    "a.xml": "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<catalog>\n  <book id=\"1\"><author>Someone</author><title>A book</title></book>\n</catalog>\n",
    "a.svg": "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 10 10\"><circle cx=\"5\" cy=\"5\" r=\"4\" fill=\"red\"/></svg>\n",
    "a.md": "# A title\n\nSome *words* and a [link](https://example.org).\n\n- one\n- two\n\n```go\nfmt.Println(1)\n```\n",
    "a.rst": "A title\n=======\n\nSome *words* and a `link <https://example.org>`_.\n\n.. code-block:: python\n\n   print(1)\n\n.. note:: take care\n",
    "a.tex": "\\documentclass{article}\n\\usepackage{amsmath}\n\\begin{document}\n\\section{One}\nThe sum $\\sum_{i=1}^n i$ is \\emph{known}.\n\\end{document}\n",
    "a.bib": "@article{a2020,\n  author = {Someone, A.},\n  title = {A title},\n  journal = {A journal},\n  year = {2020}\n}\n",
    "a.po": "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\n#: main.c:10\nmsgid \"file\"\nmsgstr \"Datei\"\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:03,500\nSome words\n\n2\n00:00:04,000 --> 00:00:06,000\nmore of them\n",
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:03.500\nSome words\n\n00:04.000 --> 00:06.000\nmore of them\n",
    "a.ics": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nDTSTART:20240101T100000Z\r\nSUMMARY:Meeting\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    "a.diff": "diff --git a/a.txt b/a.txt\nindex 1111111..2222222 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+three\n four\n",
    "Makefile": "CC = gcc\nall: a.o\n\t$(CC) -o a $^\n\n%.o: %.c\n\t$(CC) -c $<\n\n.PHONY: clean\nclean:\n\trm -f a *.o\n",
    "Dockerfile": "FROM golang:1.26 AS build\nWORKDIR /src\nCOPY . .\nRUN go build -o /a .\n\nFROM scratch\nCOPY --from=build /a /a\nENTRYPOINT [\"/a\"]\n",
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(a CXX)\nadd_executable(a main.cpp)\ntarget_link_libraries(a PRIVATE m)\ninstall(TARGETS a DESTINATION bin)\n",
    "a.gradle": "plugins { id 'java' }\nrepositories { mavenCentral() }\ndependencies {\n    implementation 'com.google.guava:guava:32.0.0-jre'\n    testImplementation 'junit:junit:4.13'\n}\n",
    "a.proto": "syntax = \"proto3\";\npackage a;\n\nmessage Person {\n  string name = 1;\n  repeated int32 ids = 2;\n}\n\nservice People { rpc Get(Person) returns (Person); }\n",
    "a.tf": "resource \"aws_instance\" \"a\" {\n  ami           = \"ami-123456\"\n  instance_type = var.type\n  tags = { Name = \"a\" }\n}\n\nvariable \"type\" { default = \"t2.micro\" }\n",
    "a.pem": "-----BEGIN CERTIFICATE-----\n" + "\n".join("MIIB" + "".join(rng.choices("ABCDEFGHabcdefgh0123456789+/", k=60)) for _ in range(12)) + "\n-----END CERTIFICATE-----\n",
    "a.eml": "From: a@example.org\nTo: b@example.org\nSubject: words\nDate: Mon, 1 Jan 2024 10:00:00 +0000\nMIME-Version: 1.0\nContent-Type: text/plain\n\nSome words.\n",
    "a.rtf": "{\\rtf1\\ansi\\deff0{\\fonttbl{\\f0 Times New Roman;}}\\f0\\fs24 Some \\b words\\b0 .\\par}\n",
    "a.m3u": "#EXTM3U\n#EXTINF:123,Someone - Song\nsong.mp3\n#EXTINF:321,Other - Song\nother.mp3\n",
    "a.vue": "<template>\n  <p @click=\"n++\">{{ n }}</p>\n</template>\n\n<script>\nexport default { data() { return { n: 0 } } }\n</script>\n\n<style scoped>p { color: red }</style>\n",
    "a.dart": "import 'dart:io';\n\nclass Person {\n  final String name;\n  Person(this.name);\n}\n\nvoid main() async {\n  stdout.writeln(Person('Ada').name);\n}\n",
    "a.cs": "using System;\nusing System.Linq;\n\nnamespace A {\n    public static class Program {\n        public static void Main(string[] args) => Console.WriteLine(args.Where(a => a.Length > 1).Count());\n    }\n}\n",
    "a.ps": "%!PS-Adobe-3.0\n/Times-Roman findfont 24 scalefont setfont\n72 720 moveto\n(words) show\nshowpage\n%%EOF\n",
    "a.pdf": "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\nxref\n0 3\n0000000000 65535 f \ntrailer\n<< /Size 3 /Root 1 0 R >>\nstartxref\n110\n%%EOF\n",
    "a.gitignore": "*.o\n*.so\nbuild/\n!build/keep\n.DS_Store\nnode_modules/\n",
    "a.csv": "id,name,value\n" + "".join(f"{i},{rng.choice(WORDS)},{rng.random():.3f}\n" for i in range(30)),
    "a.tsv": "id\tname\tvalue\n" + "".join(f"{i}\t{rng.choice(WORDS)}\t{rng.random():.3f}\n" for i in range(30)),
    "a.txt": " ".join(rng.choices(WORDS, k=200)) + "\n",
}


def noise(n):
    return rng.randbytes(n)


def png(w, h):
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + noise(3 * w) for _ in range(h))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def written(write):
    f = io.BytesIO()
    write(f)
    return f.getvalue()


def archive(entries):
    def write(f):
        with zipfile.ZipFile(f, "w", zipfile.ZIP_DEFLATED) as z:
            for name, body in entries.items():
                z.writestr(zipfile.ZipInfo(name), body)
    return written(write)


def tape(mode):
    def write(f):
        with tarfile.open(fileobj=f, mode=mode) as t:
            for name, body in list(SOURCES.items())[:5]:
                info = tarfile.TarInfo(name)
                info.size = len(body)
                t.addfile(info, io.BytesIO(body.encode()))
    return written(write)


def sound(f):
    with wave.open(f, "wb") as w:
        w.setparams((1, 2, 8000, 0, "NONE", ""))
        w.writeframes(noise(3000))


def database():
    db = sqlite3.connect(":memory:")
    db.executescript("CREATE TABLE a (id INTEGER, name TEXT); INSERT INTO a VALUES (1, 'x'), (2, 'y');")
    return db.serialize()


def binaries():
    text = SOURCES["a.txt"].encode() * 3
    object_ = {"words": WORDS, "n": [1, 2.5, None], "d": {"k": (1, 2)}}
    yield "a.png", png(20, 10)
    yield "b.png", png(60, 40)
    yield "a.gif", b"GIF89a" + struct.pack("<HHBBB", 16, 16, 0x80, 0, 0) + noise(6) + b"," + struct.pack("<HHHHB", 0, 0, 16, 16, 0) + b"\x02" + noise(300) + b"\0;"
    yield "a.bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54 + 1200, 0, 0, 54, 40, 20, 20, 1, 24, 0, 1200, 2835, 2835, 0, 0) + noise(1200)
    yield "a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xdb\0\x43\0" + bytes(range(1, 65)) + noise(1500) + b"\xff\xd9"
    yield "a.webp", b"RIFF" + struct.pack("<I", 1012) + b"WEBPVP8 " + struct.pack("<I", 1000) + noise(1000)
    yield "a.ico", struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, 1128, 22) + struct.pack("<IiiHHIIiiII", 40, 16, 32, 1, 32, 0, 0, 0, 0, 0, 0) + noise(1088)
    yield "a.tiff", b"II*\0\x08\0\0\0" + struct.pack("<HHHII", 1, 256, 3, 1, 16) + bytes(500)
    yield "a.wav", written(sound)
    yield "a.flac", b"fLaC\0\0\0\x22" + noise(2000)
    yield "a.ogg", b"OggS\0\2" + bytes(8) + noise(8) + b"\1\x1e\1vorbis" + noise(1000)
    yield "a.mp3", b"ID3\3\0\0\0\0\0\x21TIT2\0\0\0\5\0\0\0song" + b"\xff\xfb\x90\x64" + noise(1500)
    yield "a.mp4", struct.pack(">I", 24) + b"ftypisom\0\0\2\0isommp42" + struct.pack(">I", 1000) + b"moov" + noise(992)
    yield "a.mkv", b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\xf7\x81\1\x42\xf2\x81\4\x42\xf3\x81\x08\x42\x82\x88matroska" + noise(1000)
    yield "a.midi", b"MThd\0\0\0\6\0\1\0\1\0\x60MTrk\0\0\0\x20\0\xff\x58\4" + noise(60)
    yield "a.zip", archive({"a.txt": text, "b.txt": text})
    yield "a.jar", archive({"META-INF/MANIFEST.MF": "Manifest-Version: 1.0\n", "Main.class": b"\xca\xfe\xba\xbe\0\0\0\x34" + noise(300)})
    yield "a.docx", archive({"[Content_Types].xml": "<Types/>", "_rels/.rels": "<Relationships/>", "word/document.xml": "<w:document/>" * 20})
    yield "a.xlsx", archive({"[Content_Types].xml": "<Types/>", "_rels/.rels": "<Relationships/>", "xl/workbook.xml": "<workbook/>" * 20})
    yield "a.epub", archive({"mimetype": "application/epub+zip", "META-INF/container.xml": "<container/>"})
    yield "a.gz", gzip.compress(text, mtime=0)
    yield "a.bz2", bz2.compress(text)
    yield "a.xz", lzma.compress(text)
    yield "a.zlib", zlib.compress(text)
    yield "a.7z", b"7z\xbc\xaf\x27\x1c\0\4" + noise(1200)
    yield "a.rar", b"Rar!\x1a\7\1\0" + noise(1200)
    yield "a.tar", tape("w")
    yield "a.sqlite", database()
    yield "a.npy", written(lambda f: np.save(f, np.arange(100.0)))
    yield "a.npz", written(lambda f: np.savez(f, x=np.arange(10), y=np.ones(5)))
    for protocol in range(6):
        yield f"a{protocol}.pickle", pickle.dumps(object_, protocol)
    yield "a.pyc", b"\xcb\x0d\x0d\x0a" + bytes(12) + __import__("marshal").dumps(compile(SOURCES["a.py"], "a.py", "exec"))
    yield "a.plist", plistlib.dumps({"a": 1, "b": [1, 2]})
    yield "b.plist", plistlib.dumps({"a": 1, "b": [1, 2, "words"]}, fmt=plistlib.FMT_BINARY)
    yield "a.elf", b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x401000, 64, 0, 0, 64, 56, 1, 64, 0, 0) + noise(2000)
    yield "a.exe", b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0" + bytes(44) + struct.pack("<I", 128) + bytes(64) + b"PE\0\0\x64\x86" + noise(2000)
    yield "a.class", b"\xca\xfe\xba\xbe\0\0\0\x34\0\x1d\x0a\0\6\0\x0f\x09\0\x10\0\x11" + b"\1\0\6<init>\1\0\3()V\1\0\4Code\1\0\x0fLineNumberTable" + noise(200)
    yield "a.wasm", b"\0asm\1\0\0\0\1\7\1\x60\2\x7f\x7f\1\x7f\3\2\1\0\7\7\1\3add\0\0\x0a\x09\1\7\0\x20\0\x20\1\x6a\x0b"
    yield "a.pcap", struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(struct.pack("<IIII", 1700000000 + i, 0, 60, 60) + noise(60) for i in range(9))
    yield "a.ttf", b"\0\1\0\0\0\x0c\0\x80\0\3\0\x40" + b"".join(t + noise(12) for t in (b"GDEF", b"OS/2", b"cmap", b"glyf", b"head", b"name")) + noise(900)
    yield "a.stl", b"solid".ljust(80, b"\0") + struct.pack("<I", 20) + noise(1000)
    for n in (7, 8, 9, 100, 1000, 5000):
        yield f"noise{n}", noise(n)


def edges():
    text = (" ".join(rng.choices(WORDS, k=2000))).encode()
    yield "empty", b""
    for n in (1, 2, 7, 8, 9, 15, 16, 100, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193):
        yield f"text{n}", text[:n].rstrip() + b"x" * (n - len(text[:n].rstrip()))
    for n in (3, 8, 4096, 4097, 9000):
        yield f"space{n}", b" " * n
    for pad in (b"\n", b"\t\v\f\r ", b"\0", b"\x1c", b"\x85", b"\xa0", b"\xc2\xa0"):
        for n in (5, 3000, 5000):
            yield f"padded{pad.hex()}_{n}", pad * n + SOURCES["a.py"].encode() + pad * n
    for n in (4090, 4092, 4096):
        yield f"late{n}", b"\n" * n + b"abcdefgh" * 3
    yield "spacefew", b"\n" * 100 + b"abc" + b" " * 100
    yield "spacebroken", b"\n" * 100 + b"a\xff" + b" " * 100
    for name, body in {"bad": b"a\xffb", "cut": b"a\xc3", "surrogate": b"\xed\xa0\x80", "long": b"\xc0\xaf", "good": "aé".encode(), "euro": "€".encode()}.items():
        yield f"few_{name}", body
    yield "few_cut_block", b" " * 4095 + "é".encode() + b" "
    yield "bom", b"\xef\xbb\xbf" + SOURCES["a.cs"].encode()
    for code in ("utf-16", "utf-16-be", "utf-32"):
        yield f"text.{code}", SOURCES["a.txt"].encode(code)
    yield "latin1", "Gr\xfc\xdfe aus K\xf6ln, \xe0 bient\xf4t\n".encode("latin-1") * 20


def files():
    for name, body in SOURCES.items():
        raw = body.encode()
        yield "sources/" + name, raw
        yield "twice/" + name, raw + b"\n" + raw
        yield "crlf/" + name, raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        yield "half/" + name, raw[: len(raw) // 2]
    for name, body in binaries():
        yield "binaries/" + name, body
    for name, body in edges():
        yield "edges/" + name, body


def main():
    all_ = list(files())
    with open(HERE / "files.tar.gz", "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as z:
        with tarfile.open(fileobj=z, mode="w") as t:
            for name, body in all_:
                info = tarfile.TarInfo(name)
                info.size = len(body)
                t.addfile(info, io.BytesIO(body))
    with tempfile.TemporaryDirectory() as temp:
        os.chdir(temp)
        with tarfile.open(HERE / "files.tar.gz") as t:
            t.extractall(filter="data")
        os.symlink("sources/a.py", "link")
        os.symlink("nothing", "broken")
        names = [name for name, _ in all_] + ["link", "broken", "sources", "missing"]
        m = magika.Magika()
        answers = [r.asdict() for r in m.identify_paths(names)]
    with open(HERE / "answers.json.gz", "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as z:
        z.write(json.dumps(answers, indent=1).encode())
    print(len(answers), "files,", len({a["prediction"]["output"]["label"] for a in answers if "prediction" in a}), "types")


if __name__ == "__main__":
    HERE = HERE.resolve()
    main()
